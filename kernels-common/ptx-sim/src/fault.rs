//! What can go wrong in a launch, told so that it can be found.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::ast::{SourceLocation, Span};
use crate::races::report::{self, Missing, RaceAccess};

/// What an instruction did to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `ld`
    Load,
    /// `st`
    Store,
    /// `atom` or `red`
    Atomic,
}

/// The state space that an access resolved to; a generic address is resolved first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySpace {
    /// Device memory, also `.const`.
    Global,
    /// The block's shared memory.
    Shared,
    /// The thread's own memory.
    Local,
    /// Kernel parameters.
    Param,
}

impl fmt::Display for MemorySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MemorySpace::Global => "global",
            MemorySpace::Shared => "shared",
            MemorySpace::Local => "local",
            MemorySpace::Param => "parameter",
        })
    }
}

/// One thread's access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What it did.
    pub operation: Operation,
    /// Where.
    pub space: MemorySpace,
    /// Address within that space.
    pub address: u64,
    /// Bytes, over all elements of a vector access.
    pub bytes: u32,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.operation {
            Operation::Load => "load",
            Operation::Store => "store",
            Operation::Atomic => "atomic access",
        };
        let Access { space, address, bytes, .. } = self;
        write!(f, "{verb} of {bytes} bytes at {space} address {address:#x}")
    }
}

/// The allocation nearest to an address, and how the address lies to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// First address of the allocation.
    pub start: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Its label, if it was given one.
    pub label: Option<Arc<str>>,
    /// Byte offset of the access from the start: negative before it, `size` or more past its end.
    pub offset: i128,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { size, offset, .. } = self;
        let end = i128::from(*size);
        if *offset < 0 {
            write!(f, "{} bytes before ", -offset)?;
        } else if *offset >= end {
            write!(f, "{} bytes past the end of ", offset - end)?;
        } else {
            write!(f, "at byte {offset} of ")?;
        }
        self.write_allocation(f)
    }
}

impl Place {
    /// Writes which allocation it is.
    pub(crate) fn write_allocation(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { start, size, label, .. } = self;
        match label {
            Some(label) => write!(f, "`{label}`, an allocation of {size} bytes at {start:#x}"),
            None => write!(f, "the allocation of {size} bytes at {start:#x}"),
        }
    }
}

/// Threads of one warp that wait at one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Block index.
    pub block: [u32; 3],
    /// Warp within the block.
    pub warp: u32,
    /// The lanes, bit i for lane i.
    pub lanes: u32,
    /// The instruction.
    pub opcode: Arc<str>,
    /// Its place in the PTX text.
    pub span: Span,
    /// Its place in the CUDA source, when the PTX has line information.
    pub source: Option<SourceLocation>,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Waiting { block: [x, y, z], warp, lanes, opcode, span, source } = self;
        write!(f, "block ({x}, {y}, {z}) warp {warp} lanes {lanes:#010x} at `{opcode}` (line {}", span.line)?;
        if let Some(source) = source {
            write!(f, ", {source}")?;
        }
        f.write_str(")")
    }
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside every allocation.
    OutOfBounds {
        /// The access.
        access: Access,
        /// The nearest allocation, if there is one near.
        place: Option<Place>,
    },
    /// An access through a null pointer, or within the first mebibyte.
    Null {
        /// The access.
        access: Access,
    },
    /// An access to memory that has been freed.
    Freed {
        /// The access.
        access: Access,
        /// The former allocation.
        place: Place,
    },
    /// An address that is not a multiple of the access size.
    Misaligned {
        /// The access.
        access: Access,
        /// The alignment it needs, in bytes.
        align: u32,
    },
    /// A read of memory that nobody has written.
    UninitialisedRead {
        /// The access.
        access: Access,
        /// The allocation, for global memory.
        place: Option<Place>,
    },
    /// A read of shared memory that an asynchronous copy under way writes.
    CopyUnderWay {
        /// The access.
        access: Access,
    },
    /// A block that ends while a bulk copy still uses its shared memory.
    UnfinishedCopy,
    /// A write to constant or read-only memory.
    ReadOnly {
        /// The access.
        access: Access,
        /// The allocation.
        place: Place,
    },
    /// Two accesses to the same bytes, at least one of them a write, by different threads, in no order. They are a fault
    /// of the second one, at which the first had been made already.
    Race {
        /// The access that was made before.
        first: Box<RaceAccess>,
        /// The one that met it: that of the fault's site, block and thread.
        second: Box<RaceAccess>,
        /// The allocation or the shared variable; its offset is that of the first byte that both touch.
        place: Option<Place>,
        /// What would have ordered them.
        missing: Missing,
    },
    /// A block barrier that some threads of the block cannot reach together with the others.
    DivergentBarrier {
        /// Lanes of this warp that reached it.
        lanes: u32,
        /// The other groups of threads, and where they are.
        others: Vec<Waiting>,
    },
    /// A block barrier that completed only because threads had left the kernel without reaching it.
    ExitedThreads {
        /// Threads that had left.
        exited: u32,
    },
    /// A warp operation that needs a lane which is not there: it has left, never existed, or is not in the mask.
    AbsentLane {
        /// The lane that is needed.
        lane: u32,
        /// The operation's member mask.
        members: u32,
        /// The lanes that take part.
        present: u32,
    },
    /// No thread can go on.
    Deadlock {
        /// Who waits where; at most a few dozen are listed.
        waiting: Vec<Waiting>,
    },
    /// Everything that can go on looks at memory again and again, and nothing has changed any for long.
    Livelock {
        /// Who looks or waits where; at most a few dozen are listed.
        waiting: Vec<Waiting>,
    },
    /// The launch executed as many instructions as [`Config::budget`](crate::Config::budget) allows.
    Budget {
        /// Warp instructions executed.
        instructions: u64,
    },
    /// The kernel executed `trap`.
    Trap,
    /// Device functions called each other too deeply.
    CallDepth {
        /// Calls on the stack.
        depth: u32,
    },
    /// `alloca` of more than the thread has left.
    StackOverflow {
        /// Bytes asked for.
        bytes: u64,
    },
    /// A call through an address at which no function is that the call can reach.
    BadCall {
        /// The address.
        address: u64,
    },
    /// `free` in a kernel of what `malloc` in a kernel has not given, or of what has been freed.
    BadFree {
        /// The address.
        address: u64,
    },
    /// An `assert` that failed.
    Assertion {
        /// The condition.
        message: String,
        /// The source file.
        file: String,
        /// The line in it.
        line: u32,
        /// The function.
        function: String,
    },
    /// An operand that the instruction does not allow.
    BadOperand(String),
    /// The launch could not start.
    BadLaunch(String),
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::OutOfBounds { access, place: Some(place) } => write!(f, "out of bounds: {access}, {place}"),
            FaultKind::OutOfBounds { access, place: None } => {
                write!(f, "out of bounds: {access}, where nothing is allocated")
            }
            FaultKind::Null { access } => write!(f, "null pointer: {access}"),
            FaultKind::Freed { access, place } => write!(f, "use after free: {access}, {place}, which has been freed"),
            FaultKind::Misaligned { access, align } => {
                write!(f, "misaligned: {access}, which is not a multiple of {align}")
            }
            FaultKind::UninitialisedRead { access, place: Some(place) } => {
                write!(f, "uninitialised read: {access}, {place}, which nothing has written")
            }
            FaultKind::UninitialisedRead { access, place: None } => {
                write!(f, "uninitialised read: {access}, which this block has not written")
            }
            FaultKind::CopyUnderWay { access } => {
                write!(f, "copy under way: {access}, which an asynchronous copy may still write; wait for that first")
            }
            FaultKind::UnfinishedCopy => f.write_str(
                "unfinished copy: the block ends while this bulk copy still uses its shared memory; wait for it, or for \
                 its reading, before the last thread leaves",
            ),
            FaultKind::ReadOnly { access, place } => write!(f, "write to read-only memory: {access}, {place}"),
            FaultKind::Race { first, second, place, missing } => {
                report::describe(f, (first, second), place.as_ref(), *missing)
            }
            FaultKind::DivergentBarrier { lanes, others } => {
                write!(
                    f,
                    "divergent barrier: lanes {lanes:#010x} of the warp wait at a block barrier that every thread of \
                     the block must reach, but others are elsewhere"
                )?;
                list(f, others)
            }
            FaultKind::ExitedThreads { exited } => {
                write!(
                    f,
                    "barrier after exit: the barrier completed although {exited} threads left without reaching it"
                )
            }
            FaultKind::AbsentLane { lane, members, present } => write!(
                f,
                "absent lane: lane {lane} is needed (member mask {members:#010x}) but only lanes {present:#010x} take \
                 part; a mask must name the lanes that are there, and no others"
            ),
            FaultKind::Deadlock { waiting } => {
                write!(f, "deadlock: no thread can go on, each waits for others that do not come")?;
                list(f, waiting)
            }
            FaultKind::Livelock { waiting } => {
                write!(
                    f,
                    "livelock: every thread that can go on looks at memory again and again, and none has changed any \
                     for long; what they wait for does not come, perhaps from a block that has no place (all blocks of \
                     a cooperative launch have one)"
                )?;
                list(f, waiting)
            }
            FaultKind::Budget { instructions } => write!(
                f,
                "budget exceeded: {instructions} warp instructions executed; the kernel hangs (a loop that waits for a \
                 block that is not resident needs a cooperative launch), or the budget is too small for it"
            ),
            FaultKind::Trap => {
                f.write_str("trap: the kernel executed `trap`, as `__trap()` makes it do")
            }
            FaultKind::CallDepth { depth } => {
                write!(f, "call stack overflow: {depth} nested calls; the recursion is too deep, or does not end")
            }
            FaultKind::StackOverflow { bytes } => {
                write!(f, "stack overflow: `alloca` of {bytes} bytes, more than the thread has left of its local memory")
            }
            FaultKind::BadCall { address: 0 } => f.write_str("bad call: a call through a null pointer"),
            FaultKind::BadCall { address } => write!(
                f,
                "bad call: at {address:#x} is no function of the module with the parameters and results of this call"
            ),
            FaultKind::BadFree { address } => write!(
                f,
                "bad free: {address:#x} is nothing that `malloc` in a kernel gave, or it has been freed already"
            ),
            FaultKind::Assertion { message, file, line, function } => {
                write!(f, "assertion failed: `{message}` in `{function}` ({file}:{line})")
            }
            FaultKind::BadOperand(text) => write!(f, "bad operand: {text}"),
            FaultKind::BadLaunch(text) => write!(f, "bad launch: {text}"),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, waiting: &[Waiting]) -> fmt::Result {
    for group in waiting {
        write!(f, "\n    {group}")?;
    }
    Ok(())
}

/// The instruction at which a launch failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultSite {
    /// The opcode as written.
    pub opcode: Arc<str>,
    /// Its place in the PTX text.
    pub span: Span,
    /// Its place in the CUDA source, when the PTX has line information.
    pub source: Option<SourceLocation>,
    /// The device function, when it is not the kernel itself.
    pub function: Option<Arc<str>>,
}

/// What [`Fault`] holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultDetails {
    /// What went wrong.
    pub kind: FaultKind,
    /// The kernel.
    pub kernel: Arc<str>,
    /// Name of its module.
    pub module: Arc<str>,
    /// The instruction; `None` if the launch did not start.
    pub site: Option<FaultSite>,
    /// The block, if the fault has one.
    pub block: Option<[u32; 3]>,
    /// The thread within the block, if the fault has one; the first of its warp that met it.
    pub thread: Option<[u32; 3]>,
}

/// Why a launch failed, and where. Its fields are those of [`FaultDetails`].
///
/// Memory keeps what the kernel had written, and the simulator stays usable.
#[derive(Clone, PartialEq, Eq)]
pub struct Fault(Box<FaultDetails>);

impl Fault {
    pub(crate) fn new(details: FaultDetails) -> Fault {
        Fault(Box::new(details))
    }
}

impl Deref for Fault {
    type Target = FaultDetails;

    fn deref(&self) -> &FaultDetails {
        &self.0
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FaultDetails { kind, kernel, module, site, block, thread } = &*self.0;
        write!(f, "kernel `{kernel}`: {kind}")?;
        if let Some(FaultSite { opcode, span, source, function }) = site {
            write!(f, "\n  at {module}:{}:{}: `{opcode}`", span.line, span.column)?;
            if let Some(function) = function {
                write!(f, " in `{function}`")?;
            }
            if let Some(source) = source {
                write!(f, " ({source})")?;
            }
        }
        if let Some([x, y, z]) = block {
            write!(f, "\n  block ({x}, {y}, {z})")?;
            if let Some([x, y, z]) = thread {
                write!(f, ", thread ({x}, {y}, {z})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
