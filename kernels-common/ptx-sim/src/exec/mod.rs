//! Execution: functions that each run one instruction for all lanes of a warp.
//!
//! Lowering chooses them; each finds its operands through the rows of its [`Ins`]. The loops over lanes are written so
//! that they vectorise, and every function exists twice: for the plain processor, and for one with AVX2 and FMA.

#![allow(clippy::needless_range_loop, reason = "a lane is an index into several rows at once")]

pub(crate) mod alu;
pub(crate) mod async_copy;
pub(crate) mod atomic;
mod banks;
pub(crate) mod collective;
pub(crate) mod concurrent;
pub(crate) mod control;
pub(crate) mod global;
pub(crate) mod level;
pub(crate) mod local;
pub(crate) mod mbarrier;
pub(crate) mod memory;
mod printf;
pub(crate) mod shared;
pub(crate) mod system;

use crate::code::{Code, Ins};
use crate::config::Checks;
use crate::counters::Counters;
use crate::fault::FaultKind;
use crate::memory::View;
use crate::races::{BlockRaces, Races};
use crate::rows::{LANES, Line, Raw, Row, lanes};
use crate::sched::random::Random;

/// Runs one instruction.
///
/// # Safety
/// The machine's banks must be those that the instruction's rows were laid out for, and the processor must have what
/// the function was compiled for. Lowering and the scheduler see to both.
pub(crate) type Exec = unsafe fn(&mut Machine<'_>, &Ins) -> Flow;

/// What happens after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next one.
    Next,
    /// The one after the next: a guard and what it guards are done.
    Skip,
    /// The one at [`Machine::target`].
    Jump,
    /// The lanes of [`Machine::taken`] go to the instruction's target, the others to the next.
    Diverge,
    /// Lanes part by [`Machine::destinations`].
    Switch,
    /// The path has reached the point where it meets others.
    Meet,
    /// The lanes leave the kernel.
    Exit,
    /// The path calls a function.
    Call,
    /// The path returns from one.
    Return,
    /// The path waits at a block barrier, or signals one.
    Barrier,
    /// The path waits for other lanes of its warp.
    Gather,
    /// The path gives way to others.
    Yield,
    /// The path's turn is over; it goes on at the instruction that is given.
    Pause,
    /// [`Machine::fault`] says what.
    Fault,
}

/// A fault before its site is known.
#[derive(Debug)]
pub(crate) struct RawFault {
    pub(crate) kind: Box<FaultKind>,
    /// The lane that met it, or the first of those that did.
    pub(crate) lane: u32,
}

impl RawFault {
    pub(crate) fn new(kind: FaultKind, lane: u32) -> RawFault {
        RawFault { kind: Box::new(kind), lane }
    }
}

/// How long a path may go on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    /// PTX instructions left to the launch.
    pub(crate) instructions: u64,
    /// Backward branches left to the path.
    pub(crate) backward: u32,
    /// Instructions left to the turn, if turns end at any instruction.
    pub(crate) steps: u32,
}

/// The state that instructions work on: one path of one warp, and what it shares with others.
pub(crate) struct Machine<'a> {
    /// Start of each [`Bank`](crate::rows::Bank).
    pub(crate) banks: [*mut u8; 4],
    /// Active lanes.
    pub(crate) mask: u32,
    /// The active lanes are all that are left of the warp, so that writing other lanes' registers does no harm.
    pub(crate) full: bool,
    /// Lanes of the warp that have not left the kernel.
    pub(crate) live: u32,
    /// The running warp's place in its block.
    pub(crate) warp: u32,
    /// The path meets others at this instruction.
    pub(crate) meet: u32,
    pub(crate) exchange: collective::Exchange,
    /// Where [`Flow::Jump`] leads.
    pub(crate) target: u32,
    /// Who takes a divergent branch.
    pub(crate) taken: u32,
    /// Where each lane goes after an indexed branch.
    pub(crate) destinations: [u32; LANES],
    /// The path has looked at memory that others may change, and so may be waiting for them.
    pub(crate) watching: bool,
    /// Values that atomics have changed.
    pub(crate) changes: u64,
    /// Draws the order of the lanes in what an instruction does to memory, if not the ascending one.
    pub(crate) random: Option<Random>,
    /// Where load instructions have read last.
    pub(crate) streams: [usize; global::STREAMS],
    pub(crate) code: &'a Code,
    pub(crate) memory: View<'a>,
    pub(crate) shared: Box<shared::Shared>,
    pub(crate) races: Races,
    /// What the running block has to do with races.
    pub(crate) here: Box<BlockRaces>,
    pub(crate) local: Box<local::Local>,
    /// Start of the running activation's local memory.
    pub(crate) local_base: u64,
    pub(crate) params: &'a [u8],
    pub(crate) checks: Checks,
    pub(crate) counters: Counters,
    pub(crate) fault: Option<RawFault>,
    /// What the kernel has printed.
    pub(crate) output: &'a mut String,
}

impl<'a> Machine<'a> {
    /// A machine that points at nothing yet.
    pub(crate) fn new(
        code: &'a Code,
        memory: View<'a>,
        params: &'a [u8],
        checks: Checks,
        races: Races,
        output: &'a mut String,
    ) -> Machine<'a> {
        Machine {
            banks: [std::ptr::null_mut(); 4],
            mask: 0,
            full: false,
            live: 0,
            warp: 0,
            meet: control::NOWHERE,
            exchange: collective::Exchange::NEW,
            target: 0,
            taken: 0,
            destinations: [0; LANES],
            watching: false,
            changes: 0,
            random: None,
            streams: [0; global::STREAMS],
            code,
            memory,
            shared: Box::new(shared::Shared::new(0)),
            races,
            here: Box::default(),
            local: Box::default(),
            local_base: 0,
            params,
            checks,
            counters: Counters::default(),
            fault: None,
            output,
        }
    }
}

impl Machine<'_> {
    /// A number that grows whenever memory that others see may have changed.
    pub(crate) fn visible_changes(&self) -> u64 {
        self.changes + self.counters.global_store_requests + self.counters.shared_store_requests
    }

    /// Address of an operand.
    ///
    /// # Safety
    /// The banks must be those that `row` was laid out for.
    #[inline(always)]
    unsafe fn address(&self, row: Row) -> *mut u8 {
        // SAFETY: the caller's promise: the offset is within the bank.
        unsafe { self.banks[row.bank()].add(row.offset()) }
    }

    /// The lanes of a register.
    ///
    /// # Safety
    /// As for [`Exec`]; `R` must be the width of the row, and nothing may write the row while the reference lives.
    #[inline(always)]
    pub(crate) unsafe fn get<R: Raw>(&self, row: Row) -> &[R; LANES] {
        // SAFETY: rows lie at multiples of 128 bytes in banks aligned to that, and are initialised.
        unsafe { &*self.address(row).cast() }
    }

    /// Writes the active lanes of a register.
    ///
    /// # Safety
    /// As for [`Machine::get`], and the row must be in the frame.
    #[inline(always)]
    pub(crate) unsafe fn put<R: Raw>(&mut self, row: Row, values: &[R; LANES]) {
        // SAFETY: as in `get`; the only reference to the row.
        let target: &mut [R; LANES] = unsafe { &mut *self.address(row).cast() };
        if self.full {
            *target = *values;
        } else {
            // A copy, so that the lanes stay in vector registers where all are written.
            let copy = *values;
            blend(target, &copy, self.mask);
        }
    }

    /// Writes the lanes of `mask`, which are active.
    ///
    /// # Safety
    /// As for [`Machine::put`].
    #[inline(always)]
    pub(crate) unsafe fn put_lanes<R: Raw>(&mut self, row: Row, values: &[R; LANES], mask: u32) {
        // SAFETY: as in `put`.
        let target: &mut [R; LANES] = unsafe { &mut *self.address(row).cast() };
        blend(target, values, mask);
    }

    /// A predicate; lanes that are not active may have any bit.
    ///
    /// # Safety
    /// As for [`Exec`]; the row must be a predicate.
    #[inline(always)]
    pub(crate) unsafe fn predicate(&self, row: Row) -> u32 {
        // SAFETY: predicates lie at multiples of 4 bytes and are initialised.
        unsafe { self.address(row).cast::<u32>().read() }
    }

    /// Writes the active lanes of a predicate.
    ///
    /// # Safety
    /// As for [`Machine::predicate`], and the row must be in the frame.
    #[inline(always)]
    pub(crate) unsafe fn put_predicate(&mut self, row: Row, bits: u32) {
        // SAFETY: as in `predicate`.
        unsafe {
            let target = self.address(row).cast::<u32>();
            target.write((target.read() & !self.mask) | (bits & self.mask));
        }
    }

    /// The index of an instruction of the running code.
    pub(crate) fn pc_of(&self, ins: &Ins) -> u32 {
        let from = std::ptr::from_ref(ins).addr() - self.code.ins.as_ptr().addr();
        (from / size_of::<Ins>()) as u32
    }

    /// Adds the PTX instructions of `from..to` to the counters and gives their number.
    #[inline(always)]
    pub(crate) fn count(&mut self, from: u32, to: u32) -> u64 {
        let count = u64::from(self.code.counts[to as usize] - self.code.counts[from as usize]);
        self.counters.instructions += count;
        self.counters.lane_instructions += count * u64::from(self.mask.count_ones());
        count
    }

    /// Runs from `pc` until the scheduler is needed: gives the reason and the instruction that is it. Takes what it
    /// executes off `quota`. Turns end at backward branches, or at any instruction if they are `PREEMPTED`; a guard and
    /// what it guards are one.
    ///
    /// # Safety
    /// As for [`Exec`]; `pc` must be an instruction of the function that the frame was laid out for.
    pub(crate) unsafe fn run<const PREEMPTED: bool>(&mut self, mut pc: u32, quota: &mut Quota) -> (Flow, u32) {
        let code = self.code;
        let mut start = pc;
        loop {
            if PREEMPTED {
                if quota.steps == 0 {
                    let count = self.count(start, pc);
                    quota.instructions = quota.instructions.saturating_sub(count);
                    return (Flow::Pause, pc);
                }
                quota.steps -= 1;
            }
            let ins = &code.ins[pc as usize];
            // SAFETY: the caller's promise.
            match unsafe { (ins.exec)(self, ins) } {
                Flow::Next => pc += 1,
                Flow::Skip => pc += 2,
                Flow::Jump => {
                    let count = self.count(start, pc + 1);
                    let backward = self.target <= pc;
                    pc = self.target;
                    start = pc;
                    quota.instructions = quota.instructions.saturating_sub(count);
                    if backward {
                        if quota.backward == 0 || quota.instructions == 0 {
                            return (Flow::Yield, pc.wrapping_sub(1));
                        }
                        quota.backward -= 1;
                    }
                }
                flow => {
                    let count = self.count(start, pc + 1);
                    quota.instructions = quota.instructions.saturating_sub(count);
                    return (flow, pc);
                }
            }
        }
    }

    /// The lanes of `mask` in the order in which they write to memory: ascending, or by chance.
    #[inline(always)]
    pub(crate) fn lanes_in_turn(&mut self, mask: u32) -> impl Iterator<Item = usize> + Clone + use<> {
        let order = if self.random.is_some() { Some(self.shuffled_lanes(mask)) } else { None };
        lanes(mask)
            .enumerate()
            .map(move |(place, lane)| order.as_ref().map_or(lane, |order| usize::from(order[place]) % LANES))
    }

    /// The lanes of `mask` in a random order (Fisher and Yates, "inside out").
    #[inline(never)]
    fn shuffled_lanes(&mut self, mask: u32) -> [u8; LANES] {
        let mut order = [0; LANES];
        for (place, lane) in lanes(mask).enumerate() {
            let other = self.random.as_mut().map_or(place, |random| random.below(place + 1));
            order[place] = order[other];
            order[other] = lane as u8;
        }
        order
    }

    /// Ends the launch with a fault met by `lane`.
    #[cold]
    pub(crate) fn fail(&mut self, kind: FaultKind, lane: usize) -> Flow {
        self.fault = Some(RawFault::new(kind, lane as u32));
        Flow::Fault
    }
}

/// [`Raw::blend`] as a function of its own: it would double the code of every instruction.
#[inline(never)]
fn blend<R: Raw>(target: &mut [R; LANES], source: &[R; LANES], mask: u32) {
    R::blend(target, source, mask);
}

/// Lines as a bank.
pub(crate) fn bank_of(lines: &mut [Line]) -> *mut u8 {
    lines.as_mut_ptr().cast()
}
