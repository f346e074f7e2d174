//! A block's shared memory.

use super::async_copy::Transfers;
use super::mbarrier::Mbarriers;
use super::memory::{Addresses, Element, Hosts, Loaded, Pattern, load_run, pattern, store_run};
use super::{Machine, banks};
use crate::code::Ins;
use crate::fault::{Access, FaultKind, MemorySpace, Operation};
use crate::initialised::Initialised;
use crate::races::hooks::RunOf;
use crate::rows::{LANES, Line, lanes};

/// What unwritten shared memory holds, so that a kernel that reads it despite all cannot pass for a right one.
const POISON: u32 = 0xbad5_bad5;

/// Bytes with a record of which have been written.
pub(crate) struct Shared {
    lines: Vec<Line>,
    size: u64,
    written: Initialised,
    /// Bytes at its end that are the system's, and zero at the start of a block.
    reserved: u64,
    pub(crate) mbarriers: Mbarriers,
    /// Copies into it, or out of it, that are under way.
    pub(crate) transfers: Transfers,
}

impl Shared {
    pub(crate) fn new(size: u32) -> Shared {
        let lines = size.div_ceil(Line::BYTES) as usize;
        let mut shared = Shared {
            lines: vec![Line::ZERO; lines],
            size: u64::from(size),
            written: Initialised::nothing(0),
            reserved: 0,
            mbarriers: Mbarriers::new(),
            transfers: Transfers::default(),
        };
        shared.reset();
        shared
    }

    /// Bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Makes it the memory of a new block.
    pub(crate) fn reset(&mut self) {
        // Unchecked copies need no shared memory.
        self.transfers.clear();
        if self.size != 0 {
            self.lines.fill(Line([POISON; LANES]));
            self.written.clear(self.size);
            self.clear_reserved();
            self.mbarriers.clear();
        }
    }

    /// Makes the last `bytes` bytes those of the system.
    pub(crate) fn reserve(&mut self, bytes: u32) {
        self.reserved = u64::from(bytes);
        self.clear_reserved();
    }

    fn clear_reserved(&mut self) {
        let start = self.size.saturating_sub(self.reserved);
        if let Some(host) = self.at(start, self.reserved).filter(|_| self.reserved != 0) {
            // SAFETY: `at` found that many bytes there.
            unsafe { host.write_bytes(0, self.reserved as usize) };
            self.written.mark(start, self.size);
        }
    }

    /// Where `bytes` bytes at `address` are on the host, if they are there.
    pub(super) fn at(&mut self, address: u64, bytes: u64) -> Option<*mut u8> {
        // SAFETY: the range is inside the block's shared memory.
        self.holds(address, bytes).then(|| unsafe { self.host().add(address as usize) })
    }

    /// Where `bytes` bytes at `address` are on the host, if they are there, to be read.
    pub(super) fn peek(&self, address: u64, bytes: u64) -> Option<*const u8> {
        // SAFETY: the range is inside the block's shared memory.
        self.holds(address, bytes).then(|| unsafe { self.lines.as_ptr().cast::<u8>().add(address as usize) })
    }

    /// Records that bytes have been written, as far as they are there.
    pub(super) fn mark(&mut self, address: u64, bytes: u64) {
        if self.holds(address, bytes) {
            self.written.mark(address, address + bytes);
        }
    }

    /// Makes bytes what they were before anyone had written them.
    pub(super) fn take_back(&mut self, address: u64, bytes: u64) {
        if let Some(host) = self.at(address, bytes) {
            let poison = POISON.to_le_bytes();
            for offset in 0..bytes as usize {
                // SAFETY: `at` found that many bytes there.
                unsafe { host.add(offset).write(poison[(address as usize + offset) % poison.len()]) };
            }
            self.written.forget(address, address + bytes, self.size);
        }
    }

    /// Records that the eight bytes at `address` are an mbarrier.
    pub(super) fn mark_mbarrier(&mut self, address: u64) {
        self.mark(address, 8);
    }

    #[inline(always)]
    fn host(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast()
    }

    #[inline(always)]
    fn holds(&self, address: u64, bytes: u64) -> bool {
        bytes <= self.size && address <= self.size - bytes
    }
}

impl Machine<'_> {
    /// Address on the host of `bytes` bytes at `address`, if the operation is allowed on all of them.
    #[inline(always)]
    fn shared_range(&mut self, address: u64, bytes: u64, operation: Operation) -> Option<*mut u8> {
        let checked = self.checks.initialised;
        if !self.shared.holds(address, bytes) {
            return None;
        }
        if checked {
            if operation == Operation::Store {
                self.shared.written.mark(address, address + bytes);
            } else if !self.shared.written.covers(address, address + bytes) {
                return None;
            }
        }
        // SAFETY: the range is inside the block's shared memory.
        Some(unsafe { self.shared.host().add(address as usize) })
    }

    /// Whether an access to shared memory is allowed; a fault if not, unless nothing checks it.
    pub(super) fn shared_reaches(&mut self, address: u64, bytes: u64, operation: Operation, lane: usize) -> bool {
        let uninitialised = operation == Operation::Load
            && self.checks.initialised
            && self.shared.holds(address, bytes)
            && !self.shared.written.covers(address, address + bytes);
        let allowed = self.shared.holds(address, bytes) && !uninitialised;
        allowed || !self.refuse_shared(address, bytes, operation, lane)
    }

    /// Reports an access that is not allowed; false if it is to be dropped without a fault.
    #[cold]
    fn refuse_shared(&mut self, address: u64, bytes: u64, operation: Operation, lane: usize) -> bool {
        let access = Access { operation, space: MemorySpace::Shared, address, bytes: bytes as u32 };
        if self.shared.holds(address, bytes) {
            let kind = match self.shared.transfers.writes(address, bytes) {
                true => FaultKind::CopyUnderWay { access },
                false => FaultKind::UninitialisedRead { access, place: None },
            };
            self.fail(kind, lane);
            return true;
        }
        if !self.checks.bounds {
            return false;
        }
        let place = crate::fault::Place {
            start: 0,
            size: self.shared.size,
            label: Some("shared memory of the block".into()),
            offset: i128::from(address as i64),
        };
        self.fail(FaultKind::OutOfBounds { access, place: Some(place) }, lane);
        true
    }
}

/// Loads into the active lanes if their addresses are contiguous or all the same and nothing is wrong with them.
#[inline(always)]
pub(crate) fn load<T: Element, const V: usize>(
    m: &mut Machine<'_>,
    ins: &Ins,
    addresses: &Addresses,
    loaded: &mut Loaded<T, V>,
) -> bool {
    let width = (size_of::<T>() * V) as u64;
    let (first, count, same) = match pattern(addresses, m.mask, width) {
        Pattern::Run { first, count } => (first, count, false),
        Pattern::Same { first } => (first, 1, true),
        _ => return false,
    };
    let address = addresses[first];
    if !address.is_multiple_of(width) && m.checks.bounds {
        return false;
    }
    let Some(host) = m.shared_range(address, count as u64 * width, Operation::Load) else { return false };
    if m.checks.races {
        let run = RunOf { address, width, first, count, operation: Operation::Load };
        if !m.shared_run_is_ordered(ins, run, same) {
            return false;
        }
    }
    m.counters.shared_load_requests += 1;
    m.counters.shared_load_wavefronts +=
        if same { banks::load_of_same(m.mask, width) } else { banks::load_of_run(first, count, width) };
    // SAFETY: `shared_range` found the whole access inside shared memory.
    unsafe { load_run::<T, V>(host, first, count, same, loaded) };
    true
}

/// Stores from the active lanes if their addresses are contiguous and nothing is wrong with them.
#[inline(always)]
pub(crate) fn store<T: Element, const V: usize>(
    m: &mut Machine<'_>,
    ins: &Ins,
    addresses: &Addresses,
    values: &[&[T::Raw; LANES]; V],
) -> bool {
    let width = (size_of::<T>() * V) as u64;
    let Pattern::Run { first, count } = pattern(addresses, m.mask, width) else { return false };
    let address = addresses[first];
    if !address.is_multiple_of(width) && m.checks.bounds {
        return false;
    }
    let Some(host) = m.shared_range(address, count as u64 * width, Operation::Store) else { return false };
    if m.checks.races {
        let run = RunOf { address, width, first, count, operation: Operation::Store };
        if !m.shared_run_is_ordered(ins, run, false) {
            return false;
        }
    }
    m.counters.shared_store_requests += 1;
    m.counters.shared_store_wavefronts += banks::store_of_run(first, count, width);
    // SAFETY: `shared_range` found the whole run inside shared memory.
    unsafe { store_run::<T, V>(host, first, count, values) };
    true
}

/// Counts a request and finds where its accesses go on the host; `None` after a fault. What is stored to counts as
/// written.
pub(crate) fn reach(
    m: &mut Machine<'_>,
    addresses: &Addresses,
    mask: u32,
    width: u64,
    operation: Operation,
) -> Option<Hosts> {
    match operation {
        Operation::Load => {
            m.counters.shared_load_requests += 1;
            m.counters.shared_load_wavefronts += banks::load(addresses, mask, width);
        }
        Operation::Store => {
            m.counters.shared_store_requests += 1;
            m.counters.shared_store_wavefronts += banks::store(addresses, mask, width);
        }
        // Counted by the instruction, which knows what it does.
        Operation::Atomic => {}
    }
    let mut hosts = [std::ptr::null_mut(); LANES];
    for lane in lanes(mask) {
        match m.shared_range(addresses[lane], width, operation) {
            Some(host) => hosts[lane] = host,
            None if m.refuse_shared(addresses[lane], width, operation, lane) => return None,
            None => {}
        }
    }
    Some(hosts)
}
