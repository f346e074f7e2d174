//! Global memory as a warp sees it.

use super::memory::{
    Addresses, Addressing, Element, Hosts, Loaded, Pattern, Space, extent, load_run, pattern, store_run,
};
use super::{Machine, concurrent};
use crate::code::Ins;
use crate::fault::{Access, MemorySpace, Operation};
use crate::memory::Region;
use crate::races::hooks::RunOf;
use crate::rows::{LANES, lanes};

/// Log2 of the bytes of a sector.
const SECTOR: u32 = 5;

/// Distinct sectors that accesses of `width` bytes touch. `width` is at most 16 and divides the addresses, so that each
/// access lies within one sector; if it does not (unchecked misaligned accesses), its first byte counts.
pub(crate) fn sectors(addresses: &Addresses, mask: u32, width: u64) -> u64 {
    if let Pattern::Strided { first, count, stride } = pattern(addresses, mask, width) {
        if stride.unsigned_abs() >= 1 << SECTOR {
            return count as u64;
        }
        let (one, other) = (addresses[first] >> SECTOR, addresses[first + count - 1] >> SECTOR);
        return one.abs_diff(other) + 1;
    }
    let mut list = [0u64; LANES];
    let mut count = 0;
    let mut sorted = true;
    for lane in lanes(mask) {
        let sector = addresses[lane] >> SECTOR;
        if count != 0 && list[count - 1] == sector {
            continue;
        }
        sorted &= count == 0 || list[count - 1] < sector;
        list[count] = sector;
        count += 1;
    }
    let list = &mut list[..count];
    if !sorted {
        list.sort_unstable();
        return 1 + list.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
    }
    count as u64
}

/// Sectors that atomics on `width` bytes go to, each once for every lane that has the address in it which most lanes
/// have: lanes with different addresses in a sector are served together, lanes with the same one after another.
pub(crate) fn sectors_of_atomics(addresses: &Addresses, mask: u32, width: u64) -> u64 {
    match pattern(addresses, mask, width) {
        Pattern::Same { .. } => return u64::from(mask.count_ones()),
        Pattern::Run { .. } | Pattern::Strided { .. } => return sectors(addresses, mask, width),
        Pattern::Scattered => {}
    }
    let mut list = [0u64; LANES];
    let mut count = 0;
    for lane in lanes(mask) {
        list[count] = addresses[lane];
        count += 1;
    }
    let list = &mut list[..count];
    list.sort_unstable();
    let same_sector = list.chunk_by(|one, other| one >> SECTOR == other >> SECTOR);
    same_sector.map(|sector| sector.chunk_by(u64::eq).map(<[u64]>::len).max().unwrap_or(0) as u64).sum()
}

/// Sectors of `bytes` contiguous bytes.
#[inline(always)]
fn sectors_of_run(address: u64, bytes: u64) -> u64 {
    ((address + bytes - 1) >> SECTOR) - (address >> SECTOR) + 1
}

/// The processor's own prefetching stays within a page.
const PAGE: usize = 4096;
/// Load instructions whose last addresses are remembered.
pub(crate) const STREAMS: usize = 64;

impl Machine<'_> {
    /// The region that holds `bytes` bytes at `address`, if the operation is allowed on all of them.
    #[inline(always)]
    pub(crate) fn global(&self, address: u64, bytes: u64, operation: Operation) -> Option<Region> {
        let region = self.memory.region(address)?;
        let allowed = region.holds(address, bytes)
            && (operation == Operation::Load || !region.read_only || !self.checks.bounds)
            && (operation == Operation::Store
                || region.whole
                || !self.checks.initialised
                || self.memory.written(&region, address, bytes));
        allowed.then_some(region)
    }

    /// Fetches what the instruction `ins`, which now loads `bytes` bytes at `host`, will load next if it goes on as it
    /// did since its last execution.
    ///
    /// A warp's loop over a grid's worth of data takes strides that the processor's own prefetching does not follow.
    #[inline(always)]
    fn prefetch_next(&mut self, ins: &Ins, host: *const u8, bytes: usize) {
        let entry = (std::ptr::from_ref(ins).addr() >> 3) % STREAMS;
        let stride = host.addr().wrapping_sub(self.streams[entry]);
        self.streams[entry] = host.addr();
        if !(PAGE..=usize::MAX - PAGE).contains(&stride) {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        for offset in (0..bytes).step_by(64) {
            // SAFETY: a prefetch may be given any address.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(host.wrapping_add(stride.wrapping_add(offset)).cast());
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (stride, bytes);
    }

    /// Counts a load of so many sectors. Constant memory has a cache of its own.
    #[inline(always)]
    fn count_load(&mut self, ins: &Ins, sectors: u64) {
        if Addressing::unpack(ins.extra).space == Space::Constant {
            self.counters.constant_load_requests += 1;
        } else {
            self.counters.global_load_requests += 1;
            self.counters.global_load_sectors += sectors;
        }
    }

    /// Reports an access that is not allowed; false if it is to be dropped without a fault.
    #[cold]
    pub(super) fn refuse_global(&mut self, address: u64, bytes: u64, operation: Operation, lane: usize) -> bool {
        let inside = self.memory.region(address).is_some_and(|region| region.holds(address, bytes));
        if !inside && !self.checks.bounds {
            return false;
        }
        let access = Access { operation, space: MemorySpace::Global, address, bytes: bytes as u32 };
        let kind = self.memory.diagnose(access);
        self.fail(kind, lane);
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
    let size = size_of::<T>();
    let width = (size * V) as u64;
    let (first, count, same) = match pattern(addresses, m.mask, width) {
        Pattern::Run { first, count } => (first, count, false),
        Pattern::Same { first } => (first, 1, true),
        _ => return false,
    };
    let (address, bytes) = (addresses[first], count as u64 * width);
    let Some(region) = m.global(address, bytes, Operation::Load) else { return false };
    if address % width != 0 && m.checks.bounds {
        return false;
    }
    if m.checks.races {
        let run = RunOf { address, width, first, count, operation: Operation::Load };
        if !m.global_run_is_ordered(ins, &region, run, same) {
            return false;
        }
    }
    m.count_load(ins, sectors_of_run(address, bytes));
    // SAFETY: the region holds `bytes` bytes at `address`.
    unsafe {
        let host = region.host.add((address - region.start) as usize);
        m.prefetch_next(ins, host, bytes as usize);
        if m.memory.is_together() {
            concurrent::load_run::<T, V>(host, first, count, same, loaded);
        } else {
            load_run::<T, V>(host, first, count, same, loaded);
        }
    }
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
    let (address, bytes) = (addresses[first], count as u64 * width);
    let Some(region) = m.global(address, bytes, Operation::Store) else { return false };
    if address % width != 0 && m.checks.bounds {
        return false;
    }
    if m.checks.races {
        let run = RunOf { address, width, first, count, operation: Operation::Store };
        if !m.global_run_is_ordered(ins, &region, run, false) {
            return false;
        }
    }
    m.counters.global_store_requests += 1;
    m.counters.global_store_sectors += sectors_of_run(address, bytes);
    // SAFETY: the region holds `bytes` bytes at `address`.
    unsafe {
        let host = region.host.add((address - region.start) as usize);
        if m.memory.is_together() {
            concurrent::store_run::<T, V>(host, first, count, values);
        } else {
            store_run::<T, V>(host, first, count, values);
        }
    }
    m.memory.mark(&region, address, bytes);
    true
}

/// Counts a request and finds where its accesses go on the host; `None` after a fault. What is stored to counts as
/// written.
pub(crate) fn reach(
    m: &mut Machine<'_>,
    ins: &Ins,
    addresses: &Addresses,
    mask: u32,
    width: u64,
    operation: Operation,
) -> Option<Hosts> {
    match operation {
        Operation::Load => m.count_load(ins, sectors(addresses, mask, width)),
        Operation::Store => {
            m.counters.global_store_requests += 1;
            m.counters.global_store_sectors += sectors(addresses, mask, width);
        }
        // Counted by the instruction, which knows what it does.
        Operation::Atomic => {}
    }
    let mut hosts = [std::ptr::null_mut(); LANES];
    // Most often all lanes stay within one allocation that is wholly initialised.
    let (least, greatest) = extent(addresses, mask);
    let bytes = (greatest - least).saturating_add(width);
    if let Some(region) = m.global(least, bytes, operation)
        && (region.whole || operation == Operation::Load)
    {
        for lane in lanes(mask) {
            // SAFETY: the region holds everything between the extremes.
            hosts[lane] = unsafe { region.host.add((addresses[lane] - region.start) as usize) };
        }
        return Some(hosts);
    }
    for lane in lanes(mask) {
        let address = addresses[lane];
        let Some(region) = m.global(address, width, operation) else {
            if m.refuse_global(address, width, operation, lane) {
                return None;
            }
            continue;
        };
        // SAFETY: the region holds the address.
        hosts[lane] = unsafe { region.host.add((address - region.start) as usize) };
        if operation == Operation::Store {
            m.memory.mark(&region, address, width);
        }
    }
    Some(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_distinct_sectors() {
        let strided: Addresses = std::array::from_fn(|lane| 1024 + 32 * lane as u64);
        assert_eq!(sectors(&strided, u32::MAX, 4), 32);
        assert_eq!(sectors(&strided, 0b101, 4), 2);
        let mut reversed: Addresses = std::array::from_fn(|lane| 1024 + 4 * lane as u64);
        assert_eq!(sectors(&reversed, u32::MAX, 4), 4);
        reversed.reverse();
        assert_eq!(sectors(&reversed, u32::MAX, 4), 4);
        assert_eq!(sectors(&[64; LANES], u32::MAX, 4), 1);
        assert_eq!(sectors_of_run(28, 8), 2);
        assert_eq!(sectors_of_run(32, 512), 16);
    }

    #[test]
    fn counts_sectors_of_atomics_as_often_as_an_address() {
        let run: Addresses = std::array::from_fn(|lane| 1024 + 4 * lane as u64);
        let pairs: Addresses = std::array::from_fn(|lane| 1024 + 4 * (lane as u64 / 2));
        let alternating: Addresses = std::array::from_fn(|lane| 1024 + 8 * (lane as u64 % 2));
        assert_eq!(sectors_of_atomics(&run, u32::MAX, 4), 4);
        assert_eq!(sectors_of_atomics(&[64; LANES], u32::MAX, 4), 32);
        assert_eq!(sectors_of_atomics(&pairs, u32::MAX, 4), 4, "two sectors twice");
        assert_eq!(sectors_of_atomics(&alternating, u32::MAX, 8), 16);
        assert_eq!(sectors_of_atomics(&alternating, 0b10111, 8), 3, "one address three times, the other once");
    }
}
