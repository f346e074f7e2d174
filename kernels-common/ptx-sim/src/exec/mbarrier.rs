//! Barriers that lie in shared memory: `mbarrier`.
//!
//! A barrier counts arrivals, and bytes of [asynchronous copies](super::async_copy) that are to come. When both are
//! there its phase is complete, and the next one begins with the same number of arrivals. Whoever waits names the phase,
//! by the state that an arrival gave or by its parity.
//!
//! An arrival releases, and a wait that finds the phase complete acquires. That orders what threads do; asynchronous
//! copies take no part in the search for races.
//!
//! What the hardware keeps in the eight bytes is opaque, so the simulator keeps it beside them: a load of these bytes
//! tells nothing.

use std::collections::BTreeMap;

use super::level::Run;
use super::memory::{Addresses, Addressing, EXTRA_SHIFT};
use super::{Flow, Machine};
use crate::code::Ins;
use crate::fault::{FaultKind, MemorySpace, Operation};
use crate::races::Order;
use crate::races::report::Scope;
use crate::rows::{LANES, lanes};

/// Arrivals that a phase can have, and bytes that it can wait for, as the manual limits both.
const MOST: u32 = (1 << 20) - 1;
/// Bits of a state that hold the arrivals that were missing; the phase is above them.
const COUNT_BITS: u32 = 20;

/// A barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mbarrier {
    /// Arrivals of the phases after this one.
    expected: u32,
    /// Arrivals that this phase lacks.
    pending: u32,
    /// Bytes that this phase lacks; negative if copies ended before they were announced.
    bytes: i64,
    /// Phases that are complete.
    phase: u64,
}

/// What a barrier does not allow, in words.
type Outcome = Result<(), String>;

impl Mbarrier {
    fn new(count: u32) -> Mbarrier {
        Mbarrier { expected: count, pending: count, bytes: 0, phase: 0 }
    }

    /// What an arrival gets to know: the phase, and the arrivals that it lacked.
    fn state(&self) -> u64 {
        self.phase << COUNT_BITS | u64::from(self.pending)
    }

    /// Whether the phase of this state is complete.
    fn has_passed(&self, state: u64) -> bool {
        self.phase << COUNT_BITS >> COUNT_BITS != state >> COUNT_BITS
    }

    /// Whether the last phase of this parity is complete.
    fn has_passed_parity(&self, parity: u32) -> bool {
        self.phase & 1 != u64::from(parity & 1)
    }

    /// Counts arrivals; with `for_good` the later phases do without them.
    pub(super) fn arrive(&mut self, count: u32, for_good: bool) -> Outcome {
        if count > self.pending {
            let pending = self.pending;
            return Err(format!("{count} arrivals at an mbarrier whose phase lacks only {pending}"));
        }
        self.pending -= count;
        if for_good {
            self.expected -= count.min(self.expected);
        }
        self.settle();
        Ok(())
    }

    /// Adds an arrival that the phase waits for.
    pub(super) fn add_pending(&mut self) -> Outcome {
        if self.pending == MOST {
            return Err(format!("an mbarrier waits for more than {MOST} arrivals"));
        }
        self.pending += 1;
        Ok(())
    }

    /// Adds bytes that the phase waits for; negative if they have come.
    pub(super) fn expect(&mut self, bytes: i64) -> Outcome {
        self.bytes += bytes;
        if self.bytes.unsigned_abs() > u64::from(MOST) {
            return Err(format!("an mbarrier waits for {} bytes; it can count to {MOST}", self.bytes));
        }
        self.settle();
        Ok(())
    }

    /// Ends the phase if nothing lacks.
    fn settle(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.phase += 1;
            self.pending = self.expected;
        }
    }
}

/// The barriers of a block, by their shared address.
pub(crate) type Mbarriers = BTreeMap<u64, Mbarrier>;

/// What an instruction does to a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Makes one that waits for the operand's number of arrivals.
    Init,
    /// Ends one.
    Invalidate,
    /// Adds the operand to the bytes of the phase.
    ExpectBytes,
    /// Takes the operand off the bytes of the phase.
    CompleteBytes,
    /// Arrives, the operand being the number of arrivals, or with `expect` the bytes to wait for.
    Arrive {
        /// Adds bytes before arriving, once.
        expect: bool,
        /// Later phases do without these arrivals.
        for_good: bool,
        /// Must not complete the phase.
        no_complete: bool,
    },
    /// Asks whether the phase is complete whose state, or with `parity` whose parity, the operand is.
    Wait {
        /// By parity.
        parity: bool,
        /// May suspend the thread for a while if it is not.
        suspends: bool,
    },
}

/// The operands of an `mbarrier` instruction, an entry of [`Code::mbarriers`](crate::code::Code::mbarriers).
#[derive(Clone, Copy, Debug)]
pub(crate) struct MbarrierOp {
    pub(crate) action: Action,
    /// `rows[1]` is a 64-bit row for the state.
    pub(crate) gives_state: bool,
    /// `rows[2]` is a 64-bit row.
    pub(crate) wide_operand: bool,
}

impl MbarrierOp {
    /// How the operation synchronises; none if it makes the barrier or ends it.
    fn order(self) -> Option<Order> {
        let (acquires, releases) = match self.action {
            Action::Init | Action::Invalidate => return None,
            Action::Wait { .. } => (true, false),
            Action::ExpectBytes | Action::CompleteBytes | Action::Arrive { .. } => (false, true),
        };
        Some(Order { acquires, releases, scope: Scope::Block })
    }
}

/// The operation `extra >> EXTRA_SHIFT` on the barriers at the addresses `rows[0]`. `rows[1]` is the state of an
/// arrival or the predicate of a wait, `rows[2]` the operand.
pub(crate) struct OnMbarrier;

impl Run for OnMbarrier {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { on_mbarrier(m, ins) }
    }
}

/// # Safety
/// As for [`Exec`](super::Exec).
#[inline(never)]
unsafe fn on_mbarrier(m: &mut Machine<'_>, ins: &Ins) -> Flow {
    let how = Addressing::unpack(ins.extra);
    let op = m.code.mbarriers[(ins.extra >> EXTRA_SHIFT) as usize];
    // SAFETY: the caller's promise; the operation tells the width of the operand.
    let (mut addresses, operands) = unsafe {
        let operands = match op.wide_operand {
            true => *m.get::<u64>(ins.rows[2]),
            false => m.get::<u32>(ins.rows[2]).map(u64::from),
        };
        (m.addresses(ins, how), operands)
    };
    let mut states = [0u64; LANES];
    let mut passed = 0u32;
    let flow = m.resolve(&mut addresses, how.space, |m, addresses, mask, space| {
        if !m.reach_mbarriers(addresses, mask, space) {
            return Flow::Fault;
        }
        if let Action::Wait { parity, .. } = op.action {
            m.watching = true;
            // Copies are late: one that nothing has to wait for is not done.
            let waiting = lanes(mask).filter(|&lane| !m.has_passed(addresses[lane], operands[lane], parity));
            let waiting = waiting.fold(0, |mask, lane| mask | 1 << lane);
            if let Err(fault) = m.finish_for_mbarriers(addresses, waiting) {
                return m.fail(*fault, mask.trailing_zeros() as usize % LANES);
            }
        }
        for lane in lanes(mask) {
            match m.act(op.action, addresses[lane], operands[lane]) {
                Ok(Answer::State(state)) => states[lane] = state,
                Ok(Answer::Passed(true)) => passed |= 1 << lane,
                // Nothing happened.
                Ok(Answer::Passed(false)) => continue,
                Err(text) => return m.fail(FaultKind::BadOperand(text), lane),
            }
            // The libraries end a barrier as soon as nobody needs it, without an order that all who waited take part in.
            let is_end = op.action == Action::Invalidate;
            if m.checks.races && !is_end && m.race_of_object(ins, (addresses[lane], lane), op.order()) {
                return Flow::Fault;
            }
        }
        Flow::Next
    });
    if flow == Flow::Fault {
        return flow;
    }
    // SAFETY: the caller's promise; the operation tells what the row is.
    unsafe {
        match op.action {
            Action::Wait { .. } => m.put_predicate(ins.rows[1], passed),
            _ if op.gives_state => m.put_lanes(ins.rows[1], &states, m.mask),
            _ => {}
        }
    }
    if matches!(op.action, Action::Wait { suspends: true, .. }) && passed != m.mask {
        return Flow::Yield;
    }
    Flow::Next
}

/// What an operation on a barrier gives.
enum Answer {
    State(u64),
    Passed(bool),
}

impl Machine<'_> {
    /// Whether barriers can lie at the addresses of `mask`; a fault if not.
    pub(super) fn reach_mbarriers(&mut self, addresses: &Addresses, mask: u32, space: MemorySpace) -> bool {
        if space != MemorySpace::Shared {
            let lane = mask.trailing_zeros() as usize % LANES;
            let text = format!("an mbarrier at {space} address {:#x}; they lie in shared memory", addresses[lane]);
            self.fail(FaultKind::BadOperand(text), lane);
            return false;
        }
        if !self.aligned(addresses, mask, 8, space, Operation::Atomic) {
            return false;
        }
        for lane in lanes(mask) {
            let address = addresses[lane];
            if !self.shared_reaches(address, 8, Operation::Atomic, lane) {
                return false;
            }
            // Not even an unchecked launch can leave out what others wait for.
            if self.shared.peek(address, 8).is_none() {
                let size = self.shared.size();
                let text = format!("an mbarrier at shared address {address:#x}, where a block has {size} bytes");
                self.fail(FaultKind::BadOperand(text), lane);
                return false;
            }
        }
        true
    }

    /// Whether there is a barrier, and its phase of this state or parity is complete.
    fn has_passed(&self, address: u64, operand: u64, parity: bool) -> bool {
        self.shared.mbarriers.get(&address).is_some_and(|barrier| match parity {
            true => barrier.has_passed_parity(operand as u32),
            false => barrier.has_passed(operand),
        })
    }

    fn act(&mut self, action: Action, address: u64, operand: u64) -> Result<Answer, String> {
        if action == Action::Init {
            let count = operand as u32;
            if count == 0 || count > MOST {
                return Err(format!("an mbarrier of {count} arrivals; there can be 1 to {MOST}"));
            }
            if self.shared.mbarriers.insert(address, Mbarrier::new(count)).is_some() {
                return Err(format!("an mbarrier is at shared address {address:#x} already; `mbarrier.inval` ends it"));
            }
            self.shared.mark_mbarrier(address);
            return Ok(Answer::State(0));
        }
        let barrier = self.mbarrier(address)?;
        let before = barrier.state();
        match action {
            Action::Wait { parity: true, .. } => {
                return Ok(Answer::Passed(barrier.has_passed_parity(operand as u32)));
            }
            Action::Wait { parity: false, .. } => return Ok(Answer::Passed(barrier.has_passed(operand))),
            Action::ExpectBytes => barrier.expect(i64::from(operand as u32))?,
            Action::CompleteBytes => barrier.expect(-i64::from(operand as u32))?,
            Action::Arrive { expect: true, for_good, .. } => {
                barrier.expect(i64::from(operand as u32))?;
                barrier.arrive(1, for_good)?;
            }
            Action::Arrive { expect: false, for_good, no_complete } => {
                let count = operand as u32;
                if no_complete && count == barrier.pending && barrier.bytes == 0 {
                    return Err("an arrival with `.noComplete` would complete the phase".to_owned());
                }
                barrier.arrive(count, for_good)?;
            }
            Action::Init | Action::Invalidate => {
                self.shared.mbarriers.remove(&address);
            }
        }
        self.changes += 1;
        Ok(Answer::State(before))
    }

    /// The barrier at a shared address.
    pub(super) fn mbarrier(&mut self, address: u64) -> Result<&mut Mbarrier, String> {
        self.shared.mbarriers.get_mut(&address).ok_or_else(|| {
            format!(
                "no mbarrier is at shared address {address:#x}; `mbarrier.init` makes one, visible to the threads \
                     that synchronise with it"
            )
        })
    }
}

/// Arrivals that the phase of a state lacked: `mbarrier.pending_count`.
#[inline(always)]
pub(crate) fn pending_count(state: u64) -> u32 {
    state as u32 & MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_waits_for_arrivals_and_bytes() {
        let mut barrier = Mbarrier::new(2);
        let first = barrier.state();
        assert_eq!(pending_count(first), 2);
        assert!(barrier.has_passed_parity(1) && !barrier.has_passed_parity(0));
        barrier.expect(64).unwrap();
        barrier.arrive(2, false).unwrap();
        assert!(!barrier.has_passed(first));
        barrier.expect(-64).unwrap();
        assert!(barrier.has_passed(first) && barrier.has_passed_parity(0) && !barrier.has_passed_parity(1));
        let second = barrier.state();
        assert!(!barrier.has_passed(second));
        barrier.arrive(1, true).unwrap();
        barrier.arrive(1, false).unwrap();
        assert_eq!((barrier.pending, barrier.phase), (1, 2));
        assert!(barrier.arrive(2, false).is_err());
    }

    #[test]
    fn bytes_that_come_early_do_not_end_a_phase() {
        let mut barrier = Mbarrier::new(1);
        barrier.expect(-16).unwrap();
        barrier.arrive(1, false).unwrap();
        assert_eq!(barrier.phase, 0);
        barrier.expect(16).unwrap();
        assert_eq!(barrier.phase, 1);
        assert!(barrier.expect(1 << 20).is_err());
    }
}
