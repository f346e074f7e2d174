//! Atomics and reductions: `atom` and `red`.
//!
//! The lanes of a warp take their turns in ascending order, or in a random one if the launch has a seed.

use super::level::Run;
use super::memory::{Addresses, Addressing, EXTRA_SHIFT, Hosts};
use super::{Flow, Machine, banks, concurrent, global, shared};
use crate::code::Ins;
use crate::fault::{Access, FaultKind, MemorySpace, Operation};
use crate::rows::{LANES, Row, lanes};

/// New value in memory from the old one and up to two operands, all as raw bits.
pub(crate) type Update = fn(u64, u64, u64) -> u64;

/// What an atomic instruction does.
pub(crate) struct AtomicOp {
    /// Bytes of the value: 2, 4, 8 or 16. Those of 8 have 64-bit rows.
    pub(crate) bytes: u32,
    /// What addresses must be multiples of: more than `bytes` for the first element of a vector.
    pub(crate) align: u32,
    /// It is not a further element of a vector, which is one request.
    pub(crate) counts: bool,
    pub(crate) update: Update,
    /// The instruction has a result that some instruction uses.
    pub(crate) result: bool,
    /// It writes only if the comparison holds.
    pub(crate) compares: bool,
}

/// The operation `extra >> EXTRA_SHIFT` of [`Code::atomics`](crate::code::Code::atomics) on the addresses `rows[0]`
/// with the operands `rows[2]` and `rows[3]`; the old values go to `rows[1]` if they are used.
pub(crate) struct Atomic;

impl Run for Atomic {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let how = Addressing::unpack(ins.extra);
        let code = m.code;
        m.watching = true;
        let op = &code.atomics[(ins.extra >> EXTRA_SHIFT) as usize];
        // SAFETY: the caller's promise.
        let mut addresses = unsafe { m.addresses(ins, how) };
        m.resolve(&mut addresses, how.space, |m, addresses, mask, space| {
            let Some(hosts) = reach(m, ins, op, addresses, mask, space) else { return Flow::Fault };
            let together = space == MemorySpace::Global && m.memory.is_together();
            let mut old = [0u64; LANES];
            let width = op.bytes.into();
            let mut again = m.checks.races && op.compares && m.compares_again(ins, (addresses, mask), width, space);
            for lane in m.lanes_in_turn(mask) {
                // SAFETY: the caller's promise; the size of the value tells the width of its rows.
                let (b, c) = unsafe {
                    if op.bytes == 8 {
                        (m.get::<u64>(ins.rows[2])[lane], m.get::<u64>(ins.rows[3])[lane])
                    } else {
                        let (b, c) = (m.get::<u32>(ins.rows[2])[lane], m.get::<u32>(ins.rows[3])[lane]);
                        (u64::from(b), u64::from(c))
                    }
                };
                if !hosts[lane].is_null() {
                    // SAFETY: the value is within an allocation, or within shared memory.
                    let (before, after) = unsafe {
                        if together {
                            concurrent::exchange(hosts[lane], op, b, c)
                        } else {
                            exchange(hosts[lane], op, b, c)
                        }
                    };
                    old[lane] = before;
                    m.changes += u64::from(before != after);
                    if m.checks.races {
                        let writes = !op.compares || before == if op.bytes == 2 { b & 0xffff } else { b };
                        again &= !writes;
                        if !again && m.race_of_atomic(ins, (addresses[lane], lane), width, space, writes) {
                            return Flow::Fault;
                        }
                    }
                }
            }
            if op.result {
                // SAFETY: the caller's promise.
                unsafe {
                    if op.bytes == 8 {
                        m.put_lanes(ins.rows[1], &old, mask);
                    } else {
                        m.put_lanes(ins.rows[1], &old.map(|bits| bits as u32), mask);
                    }
                }
            }
            Flow::Next
        })
    }
}

/// Counts a request, and finds where the values are on the host; `None` after a fault.
#[inline(always)]
fn reach(
    m: &mut Machine<'_>,
    ins: &Ins,
    op: &AtomicOp,
    addresses: &Addresses,
    mask: u32,
    space: MemorySpace,
) -> Option<Hosts> {
    if !m.aligned(addresses, mask, op.align, space, Operation::Atomic) {
        return None;
    }
    if op.counts {
        m.count_atomic(op, addresses, mask, space);
    }
    let width = u64::from(op.bytes);
    match space {
        MemorySpace::Global => global::reach(m, ins, addresses, mask, width, Operation::Atomic),
        MemorySpace::Shared => shared::reach(m, addresses, mask, width, Operation::Atomic),
        _ => {
            m.not_atomic(addresses, mask, op.bytes, space);
            None
        }
    }
}

/// [`Atomic`] for 128-bit values: stores the value whose halves are `rows[2]` and the row behind it, or if it
/// `COMPARES` that of `rows[3]`, if the old one is that of `rows[2]`.
pub(crate) struct Atomic128<const COMPARES: bool>;

impl<const COMPARES: bool> Run for Atomic128<COMPARES> {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let how = Addressing::unpack(ins.extra);
        let code = m.code;
        m.watching = true;
        let op = &code.atomics[(ins.extra >> EXTRA_SHIFT) as usize];
        // SAFETY: the caller's promise.
        let mut addresses = unsafe { m.addresses(ins, how) };
        m.resolve(&mut addresses, how.space, |m, addresses, mask, space| {
            let Some(hosts) = reach(m, ins, op, addresses, mask, space) else { return Flow::Fault };
            let (mut low, mut high) = ([0u64; LANES], [0u64; LANES]);
            let mut again = m.checks.races && COMPARES && m.compares_again(ins, (addresses, mask), 16, space);
            for lane in lanes(mask).filter(|&lane| !hosts[lane].is_null()) {
                let writes;
                // SAFETY: the caller's promise; 128-bit registers are two 64-bit rows. The value is within an
                // allocation, or within shared memory.
                unsafe {
                    let value = |m: &Machine<'_>, row: Row| {
                        u128::from(m.get::<u64>(row)[lane]) | u128::from(m.get::<u64>(row.upper_half())[lane]) << 64
                    };
                    let place = hosts[lane].cast::<u128>();
                    let old = place.read_unaligned();
                    writes = !COMPARES || old == value(m, ins.rows[2]);
                    let new = match COMPARES {
                        true if writes => value(m, ins.rows[3]),
                        true => old,
                        false => value(m, ins.rows[2]),
                    };
                    place.write_unaligned(new);
                    m.changes += u64::from(old != new);
                    (low[lane], high[lane]) = (old as u64, (old >> 64) as u64);
                }
                again &= !writes;
                if m.checks.races && !again && m.race_of_atomic(ins, (addresses[lane], lane), 16, space, writes) {
                    return Flow::Fault;
                }
            }
            if op.result {
                // SAFETY: the caller's promise.
                unsafe {
                    m.put_lanes(ins.rows[1], &low, mask);
                    m.put_lanes(ins.rows[1].upper_half(), &high, mask);
                }
            }
            Flow::Next
        })
    }
}

impl Machine<'_> {
    #[inline(always)]
    fn count_atomic(&mut self, op: &AtomicOp, addresses: &Addresses, mask: u32, space: MemorySpace) {
        // A vector is one request; its first element is aligned to all of it.
        let width = u64::from(op.align);
        match (space, op.result) {
            (MemorySpace::Global, true) => {
                self.counters.global_atomics += 1;
                self.counters.global_atomic_sectors += global::sectors_of_atomics(addresses, mask, width);
            }
            (MemorySpace::Global, false) => {
                self.counters.global_reductions += 1;
                self.counters.global_reduction_sectors += global::sectors_of_atomics(addresses, mask, width);
            }
            _ => {
                self.counters.shared_atomics += 1;
                self.counters.shared_atomic_wavefronts += banks::atomic(addresses, mask, width, op.compares);
            }
        }
    }

    #[cold]
    fn not_atomic(&mut self, addresses: &Addresses, mask: u32, bytes: u32, space: MemorySpace) -> Flow {
        let lane = mask.trailing_zeros() as usize % LANES;
        let access = Access { operation: Operation::Atomic, space, address: addresses[lane], bytes };
        self.fail(FaultKind::OutOfBounds { access, place: None }, lane)
    }
}

/// Replaces the value at `host`, and gives the old and the new one.
///
/// # Safety
/// `op.bytes` bytes must be readable and writable there.
#[inline(always)]
unsafe fn exchange(host: *mut u8, op: &AtomicOp, b: u64, c: u64) -> (u64, u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match op.bytes {
            2 => {
                let place = host.cast::<u16>();
                let old = u64::from(place.read_unaligned());
                let new = (op.update)(old, b & 0xffff, c & 0xffff) as u16;
                place.write_unaligned(new);
                (old, new.into())
            }
            4 => {
                let place = host.cast::<u32>();
                let old = u64::from(place.read_unaligned());
                let new = (op.update)(old, b, c) as u32;
                place.write_unaligned(new);
                (old, new.into())
            }
            _ => {
                let place = host.cast::<u64>();
                let old = place.read_unaligned();
                let new = (op.update)(old, b, c);
                place.write_unaligned(new);
                (old, new)
            }
        }
    }
}
