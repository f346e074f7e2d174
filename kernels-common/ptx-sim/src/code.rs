//! A kernel in the form in which it is executed.

use std::sync::Arc;

use crate::ast::{Function, Type};
use crate::exec::Exec;
use crate::exec::async_copy::CopyOp;
use crate::exec::atomic::AtomicOp;
use crate::exec::mbarrier::MbarrierOp;
use crate::exec::system::SystemCall;
use crate::fault::FaultSite;
use crate::rows::{Line, Row};
use crate::sched::barrier::BarrierOp;

/// One executable instruction: a function and the operands that it finds.
#[derive(Clone, Copy)]
pub(crate) struct Ins {
    pub(crate) exec: Exec,
    /// Operand rows; by convention destinations come first.
    pub(crate) rows: [Row; 6],
    /// Whatever else the function needs: an immediate, packed flags, a target, an index into a table of [`Code`].
    pub(crate) extra: u64,
}

impl std::fmt::Debug for Ins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x?} {:#x}", self.rows, self.extra)
    }
}

/// A function evaluated lane by lane, for the operations that are too rare to have a loop of their own.
/// It gets the raw bits of up to three operands, and gives those of the result.
pub(crate) type PerLane = Box<dyn Fn([u64; 3]) -> u64 + Send + Sync>;

/// A [`PerLane`] function with the widths of its operands.
pub(crate) struct PerLaneOp {
    pub(crate) function: PerLane,
    /// Whether the result is a 64-bit row.
    pub(crate) wide_result: bool,
    /// Whether each operand is a 64-bit row.
    pub(crate) wide: [bool; 3],
    /// Operands used.
    pub(crate) operands: usize,
}

/// The kernel, or a device function that it calls.
#[derive(Debug)]
pub(crate) struct FunctionCode {
    pub(crate) source: Arc<Function>,
    /// Its first instruction.
    pub(crate) entry: u32,
    /// Lines of its frame.
    pub(crate) lines: u32,
    /// Bytes of its local memory, call-site parameters included; a multiple of 16.
    pub(crate) local_bytes: u32,
}

/// Bytes copied between caller and callee: offsets in the local memory of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passing {
    pub(crate) caller: u32,
    pub(crate) callee: u32,
    pub(crate) bytes: u32,
}

/// A direct call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) function: u32,
    pub(crate) arguments: Vec<Passing>,
    pub(crate) results: Vec<Passing>,
}

/// A call by address: the functions that it can reach, by address, with the instruction that calls each.
#[derive(Debug, Default)]
pub(crate) struct IndirectCall {
    pub(crate) targets: Vec<(u64, u32)>,
}

/// What a constant row holds, filled in when a launch or a block starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    /// Bits known when the kernel is lowered.
    Bits(u64),
    /// Part of the parameter block, read as this type.
    Param {
        offset: u32,
        ty: Type,
    },
    /// Threads of a block in dimension 0, 1 or 2.
    Ntid(u8),
    /// Blocks of the grid.
    Nctaid(u8),
    /// Index of the block.
    Ctaid(u8),
    /// Index of the thread.
    Tid(u8),
    /// Lane.
    LaneId,
    /// Warp within the block.
    WarpId,
    /// Warps of a block.
    NWarpId,
    /// The multiprocessor that the block runs on.
    SmId,
    /// Multiprocessors.
    NSmId,
    /// Lane masks, by relation to the own lane.
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    /// An address in dynamic shared memory, by its offset.
    DynamicAddress(u32),
    /// An address in the shared memory that is reserved for the system, by its offset.
    ReservedShared(u32),
    /// Bytes of dynamic shared memory.
    DynamicShared,
    /// Bytes of shared memory in all.
    TotalShared,
    /// High and low half of the address of the cooperative launch's workspace.
    Workspace {
        high: bool,
    },
}

/// When the value of a constant row is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    AtLaunch,
    PerBlock,
    PerWarp,
}

impl Value {
    pub(crate) fn known(self) -> Known {
        match self {
            Value::Ctaid(_) | Value::SmId => Known::PerBlock,
            Value::Tid(_) | Value::WarpId => Known::PerWarp,
            _ => Known::AtLaunch,
        }
    }
}

/// A row of the constant or the warp bank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constant {
    pub(crate) row: Row,
    pub(crate) value: Value,
    /// A 64-bit row rather than a 32-bit one.
    pub(crate) wide: bool,
}

/// Everything that a launch needs to know of a kernel.
#[derive(Default)]
pub(crate) struct Code {
    pub(crate) ins: Vec<Ins>,
    /// PTX instructions that precede each executable one; one entry more than there are instructions.
    pub(crate) counts: Vec<u32>,
    /// The PTX instruction that each executable one belongs to: function and index in its body.
    pub(crate) sites: Vec<(u32, u32)>,
    /// The kernel first.
    pub(crate) functions: Vec<FunctionCode>,
    pub(crate) calls: Vec<Call>,
    pub(crate) indirect_calls: Vec<IndirectCall>,
    pub(crate) system_calls: Vec<SystemCall>,
    /// Targets of indexed branches.
    pub(crate) tables: Vec<Vec<u32>>,
    pub(crate) per_lane: Vec<PerLaneOp>,
    pub(crate) atomics: Vec<AtomicOp>,
    pub(crate) barriers: Vec<BarrierOp>,
    pub(crate) mbarriers: Vec<MbarrierOp>,
    pub(crate) copies: Vec<CopyOp>,
    pub(crate) constants: Vec<Constant>,
    /// Lines of the constant bank.
    pub(crate) constant_lines: u32,
    /// Lines of the warp bank.
    pub(crate) warp_lines: u32,
    pub(crate) registers: u32,
    pub(crate) static_shared: u32,
    /// Static shared variables: name, offset, size; by ascending offset.
    pub(crate) shared: Vec<(Arc<str>, u32, u64)>,
    /// Where dynamic shared memory starts: `static_shared`, aligned as its declaration asks.
    pub(crate) dynamic_shared: u32,
    /// Bytes behind dynamic shared memory that the kernel uses as those reserved for the system.
    pub(crate) reserved_shared: u32,
}

impl Code {
    /// The PTX instruction at `pc`.
    pub(crate) fn instruction(&self, pc: u32) -> Option<&crate::ast::Instruction> {
        let &(function, index) = self.sites.get(pc as usize)?;
        self.functions[function as usize].source.body.get(index as usize)
    }

    /// What a fault says of the instruction at `pc`.
    pub(crate) fn site(&self, pc: u32) -> Option<FaultSite> {
        let function = self.sites.get(pc as usize)?.0;
        self.instruction(pc).map(|instruction| FaultSite {
            opcode: instruction.opcode.clone(),
            span: instruction.span,
            source: instruction.source.clone(),
            function: (function != 0).then(|| self.functions[function as usize].source.name.clone()),
        })
    }

    /// The barrier instruction at `pc`.
    pub(crate) fn barrier(&self, pc: u32) -> BarrierOp {
        self.barriers[self.ins[pc as usize].extra as usize]
    }

    /// Whether the barrier instruction at `pc` is one of the cluster.
    pub(crate) fn is_cluster_barrier(&self, pc: u32) -> bool {
        self.instruction(pc).is_some_and(|instruction| instruction.opcode.starts_with("barrier.cluster"))
    }

    /// A bank of `lines` lines, all zero.
    pub(crate) fn bank(lines: u32) -> Vec<Line> {
        vec![Line::ZERO; lines.max(1) as usize]
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("instructions", &self.ins.len()).finish_non_exhaustive()
    }
}
