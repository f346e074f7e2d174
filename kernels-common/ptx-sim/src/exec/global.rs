//! Global memory as a warp sees it.

use super::Machine;
use super::memory::{Addresses, Element, Loaded, Pattern, pattern, splat};
use crate::fault::{Access, MemorySpace, Operation};
use crate::memory::Region;
use crate::rows::{LANES, lanes};

/// Log2 of the bytes of a sector.
const SECTOR: u32 = 5;

/// Distinct sectors that the accesses touch. `width` is at most 16 and divides the addresses, so that each access lies
/// within one sector; if it does not (unchecked misaligned accesses), its first byte counts.
pub(crate) fn sectors(addresses: &Addresses, mask: u32) -> u64 {
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

/// Sectors of `bytes` contiguous bytes.
#[inline(always)]
fn sectors_of_run(address: u64, bytes: u64) -> u64 {
    ((address + bytes - 1) >> SECTOR) - (address >> SECTOR) + 1
}

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

    /// The same for one lane. `Err(true)` is a fault that has been reported, `Err(false)` an access to be dropped.
    #[inline]
    pub(crate) fn global_lane(
        &mut self,
        address: u64,
        bytes: u64,
        operation: Operation,
        lane: usize,
    ) -> Result<Region, bool> {
        match self.global(address, bytes, operation) {
            Some(region) => Ok(region),
            None => Err(self.refuse(address, bytes, operation, lane)),
        }
    }

    #[cold]
    fn refuse(&mut self, address: u64, bytes: u64, operation: Operation, lane: usize) -> bool {
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
    m.counters.global_load_requests += 1;
    match pattern(addresses, mask, width) {
        Pattern::Run { first, count } => {
            let (address, bytes) = (addresses[first], count as u64 * width);
            if let Some(region) = m.global(address, bytes, Operation::Load)
                && (address % width == 0 || !m.checks.bounds)
            {
                m.counters.global_load_sectors += sectors_of_run(address, bytes);
                // SAFETY: the region holds `bytes` bytes at `address`.
                unsafe {
                    let host = region.host.add((address - region.start) as usize);
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
            if let Some(region) = m.global(address, width, Operation::Load)
                && (address % width == 0 || !m.checks.bounds)
            {
                m.counters.global_load_sectors += sectors_of_run(address, width);
                for (index, values) in loaded.iter_mut().enumerate() {
                    // SAFETY: the region holds `width` bytes at `address`.
                    *values = splat(unsafe {
                        let host = region.host.add((address - region.start) as usize);
                        T::load(host.add(index * size)).into_raw()
                    });
                }
                return true;
            }
        }
        Pattern::Scattered => {}
    }
    load_scattered::<T, V>(m, addresses, mask, loaded)
}

#[inline(always)]
fn load_scattered<T: Element, const V: usize>(
    m: &mut Machine<'_>,
    addresses: &Addresses,
    mask: u32,
    loaded: &mut Loaded<T, V>,
) -> bool {
    let size = size_of::<T>();
    let width = (size * V) as u64;
    if !m.aligned(addresses, mask, width as u32, MemorySpace::Global, Operation::Load) {
        return false;
    }
    m.counters.global_load_sectors += sectors(addresses, mask);
    let mut region = None;
    for lane in lanes(mask) {
        let address = addresses[lane];
        // Most often all lanes stay within one allocation that is wholly initialised.
        let here = match region {
            Some(region @ Region { whole: true, .. }) if region.holds(address, width) => region,
            _ => match m.global_lane(address, width, Operation::Load, lane) {
                Ok(here) => here,
                Err(true) => return false,
                Err(false) => continue,
            },
        };
        region = Some(here);
        for (index, values) in loaded.iter_mut().enumerate() {
            // SAFETY: the region holds `width` bytes at `address`.
            values[lane] = unsafe {
                let host = here.host.add((address - here.start) as usize);
                T::load(host.add(index * size)).into_raw()
            };
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
    m.counters.global_store_requests += 1;
    if let Pattern::Run { first, count } = pattern(addresses, mask, width) {
        let (address, bytes) = (addresses[first], count as u64 * width);
        if let Some(region) = m.global(address, bytes, Operation::Store)
            && (address % width == 0 || !m.checks.bounds)
        {
            m.counters.global_store_sectors += sectors_of_run(address, bytes);
            // SAFETY: the region holds `bytes` bytes at `address`.
            unsafe {
                let host = region.host.add((address - region.start) as usize);
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
            m.memory.mark(&region, address, bytes);
            return true;
        }
    }
    store_scattered::<T, V>(m, addresses, mask, values)
}

#[inline(always)]
fn store_scattered<T: Element, const V: usize>(
    m: &mut Machine<'_>,
    addresses: &Addresses,
    mask: u32,
    values: &[&[T::Raw; LANES]; V],
) -> bool {
    let size = size_of::<T>();
    let width = (size * V) as u64;
    if !m.aligned(addresses, mask, width as u32, MemorySpace::Global, Operation::Store) {
        return false;
    }
    m.counters.global_store_sectors += sectors(addresses, mask);
    let mut region = None;
    for lane in lanes(mask) {
        let address = addresses[lane];
        let here = match region {
            Some(region @ Region { whole: true, .. }) if region.holds(address, width) => region,
            _ => match m.global_lane(address, width, Operation::Store, lane) {
                Ok(here) => here,
                Err(true) => return false,
                Err(false) => continue,
            },
        };
        region = Some(here);
        for (index, values) in values.iter().enumerate() {
            // SAFETY: the region holds `width` bytes at `address`.
            unsafe {
                let host = here.host.add((address - here.start) as usize);
                T::from_raw(values[lane]).store(host.add(index * size));
            }
        }
        m.memory.mark(&here, address, width);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_distinct_sectors() {
        let strided: Addresses = std::array::from_fn(|lane| 1024 + 32 * lane as u64);
        assert_eq!(sectors(&strided, u32::MAX), 32);
        assert_eq!(sectors(&strided, 0b101), 2);
        let mut reversed: Addresses = std::array::from_fn(|lane| 1024 + 4 * lane as u64);
        assert_eq!(sectors(&reversed, u32::MAX), 4);
        reversed.reverse();
        assert_eq!(sectors(&reversed, u32::MAX), 4);
        assert_eq!(sectors(&[64; LANES], u32::MAX), 1);
        assert_eq!(sectors_of_run(28, 8), 2);
        assert_eq!(sectors_of_run(32, 512), 16);
    }
}
