//! A block's shared memory.

use super::Machine;
use super::memory::{Addresses, Element, Hosts, Loaded, Pattern, load_run, pattern, store_run};
use crate::fault::{Access, FaultKind, MemorySpace, Operation};
use crate::initialised::Initialised;
use crate::rows::{LANES, Line, lanes};

/// Banks, each four bytes wide.
const BANKS: usize = 32;

/// What unwritten shared memory holds, so that a kernel that reads it despite all cannot pass for a right one.
const POISON: u32 = 0xbad5_bad5;

/// Bytes with a record of which have been written.
pub(crate) struct Shared {
    lines: Vec<Line>,
    size: u64,
    written: Initialised,
}

impl Shared {
    pub(crate) fn new(size: u32) -> Shared {
        let lines = size.div_ceil(Line::BYTES) as usize;
        let mut shared =
            Shared { lines: vec![Line::ZERO; lines], size: u64::from(size), written: Initialised::nothing(0) };
        shared.reset();
        shared
    }

    /// Makes it the memory of a new block.
    pub(crate) fn reset(&mut self) {
        if self.size != 0 {
            self.lines.fill(Line([POISON; LANES]));
            self.written.clear(self.size);
        }
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

    /// Reports an access that is not allowed; false if it is to be dropped without a fault.
    #[cold]
    fn refuse_shared(&mut self, address: u64, bytes: u64, operation: Operation, lane: usize) -> bool {
        let access = Access { operation, space: MemorySpace::Shared, address, bytes: bytes as u32 };
        if self.shared.holds(address, bytes) {
            self.fail(FaultKind::UninitialisedRead { access, place: None }, lane);
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

/// Lanes that are served at once.
#[inline(always)]
fn lanes_at_once(width: u64) -> usize {
    match width {
        0..=4 => 32,
        5..=8 => 16,
        _ => 8,
    }
}

/// The groups of lanes that are served at once, of those in `mask`.
#[inline(always)]
fn groups(mask: u32, width: u64) -> u64 {
    let at_once = lanes_at_once(width);
    let group = u32::MAX >> (LANES - at_once);
    (0..LANES).step_by(at_once).filter(|&first| mask >> first & group != 0).count() as u64
}

/// Wavefronts of accesses of `width` bytes by the lanes of `mask`.
pub(crate) fn wavefronts(addresses: &Addresses, mask: u32, width: u64) -> u64 {
    if let (Pattern::Strided { count, stride, .. }, 4) = (pattern(addresses, mask, width), width)
        && stride % 4 == 0
    {
        // Lanes whose words are a whole number of cycles apart share a bank.
        let cycle = (BANKS as u64 >> (stride / 4).trailing_zeros().min(5)) as usize;
        return count.div_ceil(cycle) as u64;
    }
    let at_once = lanes_at_once(width);
    let mut sum = 0;
    for first in (0..LANES).step_by(at_once) {
        let group = mask & (u32::MAX >> (LANES - at_once)) << first;
        if group != 0 {
            sum += bank_conflicts(addresses, group, width.div_ceil(4));
        }
    }
    sum
}

/// The largest number of distinct words in one bank.
fn bank_conflicts(addresses: &Addresses, mask: u32, words: u64) -> u64 {
    // The distinct words of each bank as linked lists: the last word seen in the bank, and before each word another.
    const NONE: u8 = u8::MAX;
    let mut last = [NONE; BANKS];
    let mut count = [0u8; BANKS];
    let mut seen = [(0u64, NONE); LANES];
    let mut used = 0;
    for lane in lanes(mask) {
        for word in 0..words {
            let word = (addresses[lane] >> 2).wrapping_add(word);
            let bank = word as usize % BANKS;
            let mut entry = last[bank];
            while entry != NONE && seen[entry as usize].0 != word {
                entry = seen[entry as usize].1;
            }
            if entry == NONE && used < LANES {
                seen[used] = (word, last[bank]);
                last[bank] = used as u8;
                used += 1;
                count[bank] += 1;
            }
        }
    }
    u64::from(count.into_iter().max().unwrap_or(0))
}

/// Wavefronts of a run of `count` lanes from `first`: each group of lanes that is served at once takes one.
#[inline(always)]
fn wavefronts_of_run(first: usize, count: usize, width: u64) -> u64 {
    let at_once = lanes_at_once(width);
    ((first + count - 1) / at_once - first / at_once + 1) as u64
}

/// Loads into the active lanes if their addresses are contiguous or all the same and nothing is wrong with them.
#[inline(always)]
pub(crate) fn load<T: Element, const V: usize>(
    m: &mut Machine<'_>,
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
    m.counters.shared_load_requests += 1;
    m.counters.shared_load_wavefronts +=
        if same { groups(m.mask, width) } else { wavefronts_of_run(first, count, width) };
    // SAFETY: `shared_range` found the whole access inside shared memory.
    unsafe { load_run::<T, V>(host, first, count, same, loaded) };
    true
}

/// Stores from the active lanes if their addresses are contiguous and nothing is wrong with them.
#[inline(always)]
pub(crate) fn store<T: Element, const V: usize>(
    m: &mut Machine<'_>,
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
    m.counters.shared_store_requests += 1;
    m.counters.shared_store_wavefronts += wavefronts_of_run(first, count, width);
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
            m.counters.shared_load_wavefronts += wavefronts(addresses, mask, width);
        }
        Operation::Store => {
            m.counters.shared_store_requests += 1;
            m.counters.shared_store_wavefronts += wavefronts(addresses, mask, width);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(stride: u64) -> Addresses {
        std::array::from_fn(|lane| stride * lane as u64)
    }

    #[test]
    fn counts_wavefronts() {
        assert_eq!(wavefronts(&strided(4), u32::MAX, 4), 1);
        assert_eq!(wavefronts(&strided(8), u32::MAX, 4), 2);
        assert_eq!(wavefronts(&strided(128), u32::MAX, 4), 32);
        assert_eq!(wavefronts(&strided(132), u32::MAX, 4), 1);
        assert_eq!(wavefronts(&strided(0), u32::MAX, 4), 1);
        assert_eq!(wavefronts(&strided(1), u32::MAX, 1), 1);
        assert_eq!(wavefronts(&strided(128), 0b111, 4), 3);
        assert_eq!(wavefronts(&strided(8), u32::MAX, 8), 2);
        assert_eq!(wavefronts(&strided(8), 0xffff, 8), 1);
        assert_eq!(wavefronts(&strided(16), u32::MAX, 16), 4);
        assert_eq!(wavefronts(&strided(16), 0x00ff_0000, 16), 1);
        assert_eq!(wavefronts(&strided(256), u32::MAX, 8), 32);
    }

    #[test]
    fn a_run_is_counted_like_its_addresses() {
        for (width, first, count) in [(4, 3, 7), (8, 0, 32), (8, 15, 2), (16, 7, 2), (16, 0, 32), (2, 0, 32)] {
            let mask = (u32::MAX >> (32 - count)) << first;
            assert_eq!(
                wavefronts_of_run(first, count, width),
                wavefronts(&strided(width), mask, width),
                "width {width}, lanes {first}..+{count}"
            );
        }
    }
}
