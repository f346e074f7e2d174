//! Thread-local memory.
//!
//! Eight bytes of lane 0, the same eight bytes of lane 1, and so on, so that the usual access, in which all lanes use
//! the same address, touches one row. The hardware does likewise with words of four bytes. What `alloca`
//! gives lies behind the frames of functions, where each lane has a stack of its own.

use super::level::Run;
use super::memory::Addresses;
use super::{Flow, Machine};
use crate::code::{Ins, Passing};
use crate::fault::{Access, FaultKind, MemorySpace, Operation, Place};
use crate::lower::MAX_LOCAL;
use crate::rows::{LANES, lanes};

/// Bytes of a word as the hardware interleaves them.
const WORD: u64 = 4;
/// Lanes whose words make up a sector of 32 bytes.
const SECTOR_LANES: usize = 8;
/// Where the stack of `alloca` starts: behind all frames.
const STACK: u64 = MAX_LOCAL;
/// The stack ends here.
const STACK_END: u64 = STACK + MAX_LOCAL;

/// The local memory of the lanes of a warp.
#[derive(Debug)]
pub(crate) struct Local {
    rows: Vec<[u64; LANES]>,
    size: u64,
    stack: Vec<[u64; LANES]>,
    /// What the next `alloca` of each lane gives, but for its alignment.
    top: [u64; LANES],
}

impl Default for Local {
    fn default() -> Local {
        Local { rows: Vec::new(), size: 0, stack: Vec::new(), top: [STACK; LANES] }
    }
}

impl Local {
    /// Makes room for `size` bytes a lane.
    pub(crate) fn reserve(&mut self, size: u64) {
        if size > self.size {
            self.rows.resize(size.div_ceil(8) as usize, [0; LANES]);
            self.size = size;
        }
    }

    #[inline(always)]
    pub(super) fn holds(&self, address: u64, bytes: u64) -> bool {
        bytes <= self.size && address <= self.size - bytes || self.stack_holds(address, bytes)
    }

    fn stack_holds(&self, address: u64, bytes: u64) -> bool {
        let size = self.stack.len() as u64 * 8;
        address >= STACK && bytes <= size && address - STACK <= size - bytes
    }

    /// Empties the stack of `alloca`.
    pub(crate) fn reset(&mut self) {
        self.top = [STACK; LANES];
    }

    /// Index of the row of an address in the stack of `alloca`, if it is there.
    #[inline(always)]
    fn in_stack(address: u64) -> Option<usize> {
        address.checked_sub(STACK).map(|offset| (offset / 8) as usize)
    }

    /// Takes `size` bytes from the stack of a lane, if it has them.
    fn allocate(&mut self, lane: usize, size: u64, align: u64) -> Option<u64> {
        let start = self.top[lane].next_multiple_of(align);
        let end = start.checked_add(size).filter(|&end| end <= STACK_END)?;
        self.top[lane] = end;
        let rows = (end - STACK).div_ceil(8) as usize;
        if rows > self.stack.len() {
            self.stack.resize(rows, [0; LANES]);
        }
        Some(start)
    }

    /// The element of `size` bytes at `address`, a multiple of `size`; the upper bits mean nothing.
    #[inline(always)]
    pub(super) fn read(&self, address: u64, lane: usize) -> u64 {
        let row = match Local::in_stack(address) {
            None => &self.rows[(address / 8) as usize],
            Some(index) => &self.stack[index],
        };
        row[lane] >> (address % 8 * 8)
    }

    #[inline(always)]
    pub(super) fn write(&mut self, address: u64, lane: usize, size: usize, bits: u64) {
        let shift = address % 8 * 8;
        let mask = (u64::MAX >> (64 - 8 * size)) << shift;
        let row = match Local::in_stack(address) {
            None => &mut self.rows[(address / 8) as usize],
            Some(index) => &mut self.stack[index],
        };
        let word = &mut row[lane];
        *word = *word & !mask | bits << shift & mask;
    }

    /// Copies the bytes of a parameter for the lanes of `mask`.
    pub(crate) fn copy(&mut self, to: u64, from: u64, bytes: u32, mask: u32) {
        for byte in 0..u64::from(bytes) {
            for lane in lanes(mask) {
                let bits = self.read(from + byte, lane);
                self.write(to + byte, lane, 1, bits);
            }
        }
    }

    /// Passes arguments from the activation at `caller` to the one at `callee`.
    pub(crate) fn pass(&mut self, list: &[Passing], caller: u64, callee: u64, mask: u32) {
        for &Passing { caller: from, callee: to, bytes } in list {
            self.copy(callee + u64::from(to), caller + u64::from(from), bytes, mask);
        }
    }

    /// Passes results from the activation at `callee` to the one at `caller`.
    pub(crate) fn pass_back(&mut self, list: &[Passing], caller: u64, callee: u64, mask: u32) {
        for &Passing { caller: to, callee: from, bytes } in list {
            self.copy(caller + u64::from(to), callee + u64::from(from), bytes, mask);
        }
    }
}

impl Machine<'_> {
    /// Reports an access outside local memory; false if it is to be dropped without a fault.
    #[cold]
    fn refuse_local(&mut self, address: u64, bytes: u64, operation: Operation, lane: usize) -> bool {
        if !self.checks.bounds {
            return false;
        }
        let place = Place {
            start: 0,
            size: self.local.size,
            label: Some("local memory of the thread".into()),
            offset: i128::from(address as i64),
        };
        let access = Access { operation, space: MemorySpace::Local, address, bytes: bytes as u32 };
        self.fail(FaultKind::OutOfBounds { access, place: Some(place) }, lane);
        true
    }
}

/// Sectors that accesses of `width` bytes touch where the hardware keeps local memory: word after word, each of all
/// lanes side by side, so that eight lanes have their words of one number in one sector.
fn sectors(addresses: &Addresses, mask: u32, width: u64) -> u64 {
    let words = width.div_ceil(WORD);
    let mut sum = 0;
    for first in (0..LANES).step_by(SECTOR_LANES) {
        let group = mask & (u32::MAX >> (LANES - SECTOR_LANES)) << first;
        let mut list = [0u64; SECTOR_LANES];
        let mut count = 0;
        for lane in lanes(group) {
            list[count] = addresses[lane] / WORD;
            count += 1;
        }
        let list = &mut list[..count];
        list.sort_unstable();
        // Words that no lane before has reached.
        let mut end = 0;
        for &word in &*list {
            sum += (word + words).saturating_sub(end.max(word));
            end = word + words;
        }
    }
    sum
}

/// `alloca`: `rows[0]` becomes the address of `rows[1]` bytes of local memory, aligned to `extra`.
pub(crate) struct Allocate;

impl Run for Allocate {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let mut result = [0; LANES];
        // SAFETY: the caller's promise.
        unsafe {
            let sizes = *m.get::<u64>(ins.rows[1]);
            for lane in lanes(m.mask) {
                let size = sizes[lane];
                match m.local.allocate(lane, size, ins.extra) {
                    Some(address) => result[lane] = address,
                    None => return m.fail(FaultKind::StackOverflow { bytes: size }, lane),
                }
            }
            m.put_lanes(ins.rows[0], &result, m.mask);
        }
        Flow::Next
    }
}

/// `stacksave`: `rows[0]` becomes what `stackrestore` needs to free what `alloca` gives from here on.
pub(crate) struct SaveStack;

impl Run for SaveStack {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let top = m.local.top;
        // SAFETY: the caller's promise.
        unsafe { m.put_lanes(ins.rows[0], &top, m.mask) };
        Flow::Next
    }
}

/// `stackrestore` to `rows[0]`.
pub(crate) struct RestoreStack;

impl Run for RestoreStack {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        // SAFETY: the caller's promise.
        let saved = *unsafe { m.get::<u64>(ins.rows[0]) };
        for lane in lanes(m.mask) {
            if !(STACK..=m.local.top[lane]).contains(&saved[lane]) {
                let text = format!("{:#x} is nothing that `stacksave` gave, or it has been restored", saved[lane]);
                return m.fail(FaultKind::BadOperand(text), lane);
            }
            m.local.top[lane] = saved[lane];
        }
        Flow::Next
    }
}

/// Counts a request and checks its accesses; false after a fault.
pub(crate) fn reach(m: &mut Machine<'_>, addresses: &Addresses, mask: u32, width: u64, operation: Operation) -> bool {
    match operation {
        Operation::Load => {
            m.counters.local_load_requests += 1;
            m.counters.local_load_sectors += sectors(addresses, mask, width);
        }
        _ => {
            m.counters.local_store_requests += 1;
            m.counters.local_store_sectors += sectors(addresses, mask, width);
        }
    }
    lanes(mask)
        .all(|lane| m.local.holds(addresses[lane], width) || !m.refuse_local(addresses[lane], width, operation, lane))
}

/// The elements at `offset` from each address, zero-extended; zeros where nothing is.
pub(crate) fn gather(m: &Machine<'_>, addresses: &Addresses, mask: u32, offset: u64, size: u64) -> [u64; LANES] {
    let mut values = [0; LANES];
    for lane in lanes(mask) {
        // Only unchecked misaligned accesses are not multiples already; they must not straddle a row.
        let address = addresses[lane].wrapping_add(offset) & !(size - 1);
        if m.local.holds(address, size) {
            values[lane] = m.local.read(address, lane) & (u64::MAX >> (64 - 8 * size));
        }
    }
    values
}

/// Writes the elements at `offset` from each address, where there is memory.
pub(crate) fn scatter(
    m: &mut Machine<'_>,
    addresses: &Addresses,
    mask: u32,
    offset: u64,
    size: u64,
    values: &[u64; LANES],
) {
    for lane in lanes(mask) {
        let address = addresses[lane].wrapping_add(offset) & !(size - 1);
        if m.local.holds(address, size) {
            m.local.write(address, lane, size as usize, values[lane]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_sectors_of_interleaved_words() {
        let own: Addresses = std::array::from_fn(|lane| 4 * lane as u64);
        assert_eq!(sectors(&[8; LANES], u32::MAX, 4), 4, "the same word of all lanes is 128 bytes");
        assert_eq!(sectors(&[8; LANES], u32::MAX, 1), 4);
        assert_eq!(sectors(&[8; LANES], 0b1_0000_0001, 4), 2);
        assert_eq!(sectors(&own, u32::MAX, 4), 32);
        assert_eq!(sectors(&[16; LANES], u32::MAX, 16), 16);
        assert_eq!(sectors(&own, 0b11, 8), 3, "the second word of one lane is the first of the other");
    }
}
