//! Branches, calls, exits, fences: what they tell the scheduler.

use std::sync::atomic::{Ordering, fence};

use super::level::Run;
use super::{Flow, Machine};
use crate::code::Ins;
use crate::fault::FaultKind;
use crate::races::report::Scope;
use crate::rows::{LANES, lanes};

/// No instruction.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// `bra`: to the instruction in the low half of `extra`.
pub(crate) struct Jump;

impl Run for Jump {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        m.counters.branches += 1;
        m.target = ins.extra as u32;
        Flow::Jump
    }
}

/// `@p bra`: the lanes of the predicate `rows[0]` (of its negation if `NEGATED`) go to the low half of `extra`. If
/// lanes part, they meet again at the high half. Not `COUNTED` if it stands for the guard of another instruction.
pub(crate) struct Branch<const NEGATED: bool, const COUNTED: bool>;

impl<const NEGATED: bool, const COUNTED: bool> Run for Branch<NEGATED, COUNTED> {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        m.counters.branches += u64::from(COUNTED);
        // SAFETY: the caller's promise.
        let predicate = unsafe { m.predicate(ins.rows[0]) };
        let taken = m.mask & if NEGATED { !predicate } else { predicate };
        if taken == 0 {
            return Flow::Next;
        }
        m.target = ins.extra as u32;
        if taken == m.mask {
            return Flow::Jump;
        }
        m.counters.divergent_branches += u64::from(COUNTED);
        m.taken = taken;
        Flow::Diverge
    }
}

/// `brx.idx`: each lane goes to the entry that `rows[0]` names of the table in the low half of `extra`; they meet
/// again at the high half.
pub(crate) struct Indexed;

impl Run for Indexed {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        m.counters.branches += 1;
        let code = m.code;
        let table = &code.tables[ins.extra as u32 as usize];
        // SAFETY: the caller's promise.
        let indices = *unsafe { m.get::<u32>(ins.rows[0]) };
        m.destinations = [NOWHERE; LANES];
        let mut first = None;
        let mut uniform = true;
        for lane in lanes(m.mask) {
            let Some(&target) = table.get(indices[lane] as usize) else {
                let text = format!("branch index {} of a table of {}", indices[lane], table.len());
                return m.fail(FaultKind::BadOperand(text), lane);
            };
            m.destinations[lane] = target;
            uniform &= *first.get_or_insert(target) == target;
        }
        if !uniform {
            m.counters.divergent_branches += 1;
            return Flow::Switch;
        }
        m.target = first.unwrap_or(NOWHERE);
        Flow::Jump
    }
}

/// A call by the addresses `rows[0]`: each lane goes to the instruction that calls its function, by the table in the low
/// half of `extra`; they meet again at the high half.
pub(crate) struct CallIndirect;

impl Run for CallIndirect {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let targets = &m.code.indirect_calls[ins.extra as u32 as usize].targets;
        // SAFETY: the caller's promise.
        let addresses = *unsafe { m.get::<u64>(ins.rows[0]) };
        m.destinations = [NOWHERE; LANES];
        let mut first = None;
        let mut uniform = true;
        for lane in lanes(m.mask) {
            let address = addresses[lane];
            let Some(&(_, target)) = targets.iter().find(|target| target.0 == address) else {
                return m.fail(FaultKind::BadCall { address }, lane);
            };
            m.destinations[lane] = target;
            uniform &= *first.get_or_insert(target) == target;
        }
        if !uniform {
            return Flow::Switch;
        }
        m.target = first.unwrap_or(NOWHERE);
        Flow::Jump
    }
}

/// The place where lanes that parted meet again, whose own index is `extra`.
pub(crate) struct Meet;

impl Run for Meet {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        if m.meet == ins.extra as u32 { Flow::Meet } else { Flow::Next }
    }
}

macro_rules! signals {
    ($($(#[$doc:meta])* $name:ident => $flow:ident;)+) => {
        $($(#[$doc])*
        pub(crate) struct $name;

        impl Run for $name {
            #[inline(always)]
            unsafe fn run(_: &mut Machine<'_>, _: &Ins) -> Flow {
                Flow::$flow
            }
        })+
    };
}

signals! {
    /// `exit`, and `ret` of a kernel.
    Exit => Exit;
    /// `call` of the entry `extra` of [`Code::calls`](crate::code::Code::calls).
    Call => Call;
    /// The end of a device function.
    Return => Return;
    /// A block barrier; see [`Barrier`](crate::sched::barrier::BarrierOp) for its operands.
    Barrier => Barrier;
    /// `nanosleep`
    Sleep => Yield;
    /// An instruction without effect.
    Nothing => Next;
}

/// `trap`
pub(crate) struct Trap;

impl Run for Trap {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, _: &Ins) -> Flow {
        let lane = m.mask.trailing_zeros() as usize;
        m.fail(FaultKind::Trap, lane)
    }
}

/// `membar`, `fence`. Where one host thread runs all blocks every access is seen at once by all, so that only
/// [races](crate::races) have to do with it. `extra` is 0 if it orders no memory accesses, 1 if those of the block, 2 if
/// those of all.
pub(crate) struct Fence;

impl Run for Fence {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        m.counters.fences += 1;
        if m.checks.races && ins.extra != 0 {
            let scope = if ins.extra == 1 { Scope::Block } else { Scope::Device };
            m.here.threads.fence(&mut m.races, m.warp, m.mask, scope);
        }
        if m.memory.is_together() {
            fence(Ordering::SeqCst);
        }
        Flow::Next
    }
}

/// `%clock`: PTX instructions that the launch has executed, up to the last branch.
pub(crate) struct Clock;

impl Run for Clock {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let now = m.counters.instructions;
        // SAFETY: the caller's promise; `extra` tells the width of the row.
        unsafe {
            if ins.extra != 0 {
                m.put(ins.rows[0], &[now; LANES]);
            } else {
                m.put(ins.rows[0], &[now as u32; LANES]);
            }
        }
        Flow::Next
    }
}

/// Checks the ranks `rows[0]` in the cluster: it has one block, whose addresses are its own.
pub(crate) struct MapRank;

impl Run for MapRank {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        // SAFETY: the caller's promise.
        let ranks = *unsafe { m.get::<u32>(ins.rows[0]) };
        match lanes(m.mask).find(|&lane| ranks[lane] != 0) {
            Some(lane) => {
                let text = format!("block {} of a cluster of one block", ranks[lane]);
                m.fail(FaultKind::BadOperand(text), lane)
            }
            None => Flow::Next,
        }
    }
}

/// The address of a local variable, as a 64-bit row: `extra` plus the start of the running activation's local memory.
pub(crate) struct LocalAddress;

impl Run for LocalAddress {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let address = m.local_base.wrapping_add(ins.extra);
        // SAFETY: the caller's promise.
        unsafe { m.put(ins.rows[0], &[address; LANES]) };
        Flow::Next
    }
}
