//! A block's shared memory.

use super::Machine;
use super::memory::{Addresses, Element, Loaded, Pattern, pattern, splat};
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

    /// The same for one lane. `Err(true)` is a fault that has been reported, `Err(false)` an access to be dropped.
    #[inline]
    pub(crate) fn shared_lane(
        &mut self,
        address: u64,
        bytes: u64,
        operation: Operation,
        lane: usize,
    ) -> Result<*mut u8, bool> {
        match self.shared_range(address, bytes, operation) {
            Some(host) => Ok(host),
            None => Err(self.refuse_shared(address, bytes, operation, lane)),
        }
    }

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

/// Wavefronts of an access of `width` bytes a lane.
pub(crate) fn wavefronts(addresses: &Addresses, mask: u32, width: u64) -> u64 {
    let lanes_at_once = match width {
        0..=4 => 32,
        5..=8 => 16,
        _ => 8,
    };
    let mut sum = 0;
    for group in (0..LANES).step_by(lanes_at_once) {
        let group = mask & (u32::MAX >> (LANES - lanes_at_once)) << group;
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
    let mut count = [0u64; BANKS];
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
    count.into_iter().max().unwrap_or(0)
}

/// Wavefronts of a run of `count` lanes from `first`: each group of lanes that is served at once takes one.
#[inline(always)]
fn wavefronts_of_run(first: usize, count: usize, width: u64) -> u64 {
    let lanes_at_once = match width {
        0..=4 => 32,
        5..=8 => 16,
        _ => 8,
    };
    ((first + count - 1) / lanes_at_once - first / lanes_at_once + 1) as u64
}

/// Loads into the lanes of `mask`; false after a fault.
#[inline(always)]
pub(crate) fn load<T: Element, const V: usize>(
    m: &mut Machine<'_>,
    addresses: &Addresses,
    mask: u32,
    loaded: &mut Loaded<T, V>,
) -> bool {
    let size = size_of::<T>();
    let width = (size * V) as u64;
    m.counters.shared_load_requests += 1;
    match pattern(addresses, mask, width) {
        Pattern::Run { first, count } => {
            let address = addresses[first];
            if (address.is_multiple_of(width) || !m.checks.bounds)
                && let Some(host) = m.shared_range(address, count as u64 * width, Operation::Load)
            {
                m.counters.shared_load_wavefronts += wavefronts_of_run(first, count, width);
                // SAFETY: `shared_range` found the whole run inside shared memory.
                unsafe {
                    if count == LANES {
                        for lane in 0..LANES {
                            for index in 0..V {
                                loaded[index][lane] = T::load(host.add((lane * V + index) * size)).into_raw();
                            }
                        }
                    } else {
                        for lane in 0..count {
                            for index in 0..V {
                                loaded[index][first + lane] = T::load(host.add((lane * V + index) * size)).into_raw();
                            }
                        }
                    }
                }
                return true;
            }
        }
        Pattern::Same { first } => {
            let address = addresses[first];
            if (address.is_multiple_of(width) || !m.checks.bounds)
                && let Some(host) = m.shared_range(address, width, Operation::Load)
            {
                m.counters.shared_load_wavefronts += wavefronts(addresses, mask, width);
                for (index, values) in loaded.iter_mut().enumerate() {
                    // SAFETY: `shared_range` found the whole access inside shared memory.
                    *values = splat(unsafe { T::load(host.add(index * size)).into_raw() });
                }
                return true;
            }
        }
        Pattern::Scattered => {}
    }
    if !m.aligned(addresses, mask, width as u32, MemorySpace::Shared, Operation::Load) {
        return false;
    }
    m.counters.shared_load_wavefronts += wavefronts(addresses, mask, width);
    for lane in lanes(mask) {
        let host = match m.shared_lane(addresses[lane], width, Operation::Load, lane) {
            Ok(host) => host,
            Err(true) => return false,
            Err(false) => continue,
        };
        for (index, values) in loaded.iter_mut().enumerate() {
            // SAFETY: `shared_lane` found the whole access inside shared memory.
            values[lane] = unsafe { T::load(host.add(index * size)).into_raw() };
        }
    }
    true
}

/// Stores from the lanes of `mask`; false after a fault. Where lanes store to the same place the highest one wins.
#[inline(always)]
pub(crate) fn store<T: Element, const V: usize>(
    m: &mut Machine<'_>,
    addresses: &Addresses,
    mask: u32,
    values: &[&[T::Raw; LANES]; V],
) -> bool {
    let size = size_of::<T>();
    let width = (size * V) as u64;
    m.counters.shared_store_requests += 1;
    if let Pattern::Run { first, count } = pattern(addresses, mask, width) {
        let address = addresses[first];
        if (address.is_multiple_of(width) || !m.checks.bounds)
            && let Some(host) = m.shared_range(address, count as u64 * width, Operation::Store)
        {
            m.counters.shared_store_wavefronts += wavefronts_of_run(first, count, width);
            // SAFETY: `shared_range` found the whole run inside shared memory.
            unsafe {
                if count == LANES {
                    for lane in 0..LANES {
                        for index in 0..V {
                            T::from_raw(values[index][lane]).store(host.add((lane * V + index) * size));
                        }
                    }
                } else {
                    for lane in 0..count {
                        for index in 0..V {
                            T::from_raw(values[index][first + lane]).store(host.add((lane * V + index) * size));
                        }
                    }
                }
            }
            return true;
        }
    }
    if !m.aligned(addresses, mask, width as u32, MemorySpace::Shared, Operation::Store) {
        return false;
    }
    m.counters.shared_store_wavefronts += wavefronts(addresses, mask, width);
    for lane in lanes(mask) {
        let host = match m.shared_lane(addresses[lane], width, Operation::Store, lane) {
            Ok(host) => host,
            Err(true) => return false,
            Err(false) => continue,
        };
        for (index, values) in values.iter().enumerate() {
            // SAFETY: `shared_lane` found the whole access inside shared memory.
            unsafe { T::from_raw(values[lane]).store(host.add(index * size)) };
        }
    }
    true
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
