//! Device memory: allocations at made-up addresses, backed by host memory.
//!
//! Every access to the bytes of an allocation, by the host or by a kernel, goes through this file.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::VecDeque;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::fault::{Access, FaultKind, Operation, Place};
use crate::initialised::Initialised;
use crate::races::clock::{LAST, Time};
use crate::races::lines;

/// Addresses below this are a null pointer, perhaps with an index added.
const NULL_END: u64 = 1 << 20;
/// First device address. Shared, local and parameter memory have their windows below it.
pub(crate) const GLOBAL_BASE: u64 = 1 << 44;
/// Each allocation starts at a multiple of this, so that an address leads to its allocation by one table look-up.
const PAGE: u64 = 1 << 20;
/// Unmapped bytes between the end of an allocation and the start of the next, at least.
const GUARD: u64 = 1 << 16;
/// Bytes of the heap that `malloc` in kernels takes from, as a device has by default.
const HEAP: u64 = 8 << 20;
/// What allocations on the heap are rounded up to, with a header of this size.
const HEAP_GRANULE: u64 = 16;
/// How faults name what is on the heap.
const HEAP_LABEL: &str = "memory that a kernel allocated";
/// Freed allocations that are remembered.
const REMEMBERED: usize = 4096;

/// Why a request about device memory failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The device, or the host that simulates it, has not that much memory left.
    #[error(
        "out of simulated device memory: asked for {asked} bytes, {free} are free. Free some, or raise `Config::memory`"
    )]
    OutOfMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// No allocation has this address.
    #[error("nothing is allocated at device address {address:#x}")]
    Unknown {
        /// The address.
        address: u64,
    },
    /// The allocation of this address has been freed.
    #[error("the allocation of {size} bytes at device address {start:#x} has been freed")]
    Freed {
        /// First address of the former allocation.
        start: u64,
        /// Its size in bytes.
        size: u64,
    },
    /// The address is inside an allocation where the first address of one is needed.
    #[error("device address {address:#x} is inside an allocation; its first address {start:#x} is needed")]
    NotTheStart {
        /// The address given.
        address: u64,
        /// First address of the allocation.
        start: u64,
    },
    /// The range leaves its allocation.
    #[error("{bytes} bytes at device address {address:#x} leave the allocation of {size} bytes at {start:#x}")]
    OutOfRange {
        /// First address of the range.
        address: u64,
        /// Bytes of the range.
        bytes: u64,
        /// First address of the allocation.
        start: u64,
        /// Its size in bytes.
        size: u64,
    },
    /// A fill with a pattern of no bytes.
    #[error("a fill needs a pattern of at least one byte")]
    EmptyPattern,
}

/// Host memory of one allocation: zeroed, aligned to 256 bytes, never moved.
#[derive(Debug)]
struct Block {
    raw: NonNull<u8>,
    layout: Layout,
    start: NonNull<u8>,
}

// SAFETY: a block owns its memory, like a `Box<[u8]>`.
unsafe impl Send for Block {}
// SAFETY: a shared reference to a block gives out a pointer, which takes an `unsafe` block to use.
unsafe impl Sync for Block {}

const HOST_ALIGN: usize = 256;

impl Block {
    fn new(bytes: u64) -> Option<Block> {
        // Zeroed memory of a greater alignment is cleared by hand, which touches every page of a large allocation.
        // So ask for the alignment that `calloc` gives, and for room to align within.
        let size = usize::try_from(bytes).ok()?.checked_add(HOST_ALIGN)?;
        let layout = Layout::from_size_align(size, 16).ok()?;
        // SAFETY: the size is not zero.
        let raw = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let skip = raw.as_ptr().align_offset(HOST_ALIGN);
        // SAFETY: `skip` is less than the alignment, which was added to the size.
        let start = unsafe { raw.add(skip) };
        Some(Block { raw, layout, start })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.raw.as_ptr(), self.layout) }
    }
}

#[derive(Debug)]
struct Allocation {
    start: u64,
    size: u64,
    /// `None` once freed.
    block: Option<Block>,
    label: Option<Arc<str>>,
    read_only: bool,
    /// A kernel has allocated it.
    on_heap: bool,
    initialised: Initialised,
    /// Accesses that others may race with; none until a kernel makes one.
    shadow: Vec<lines::Line>,
}

impl Allocation {
    fn place(&self, address: u64) -> Place {
        Place {
            start: self.start,
            size: self.size,
            label: self.label.clone(),
            offset: i128::from(address) - i128::from(self.start),
        }
    }
}

/// A live allocation as a kernel sees it.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    pub(crate) start: u64,
    pub(crate) size: u64,
    /// Address of its first byte on the host.
    pub(crate) host: *mut u8,
    /// Whether every byte has been written.
    pub(crate) whole: bool,
    pub(crate) read_only: bool,
    index: u32,
}

impl Region {
    /// Whether `bytes` bytes at `address` lie within.
    #[inline(always)]
    pub(crate) fn holds(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.start);
        bytes <= self.size && offset <= self.size - bytes
    }
}

/// All of device memory.
#[derive(Debug)]
pub(crate) struct Memory {
    limit: u64,
    used: u64,
    next: u64,
    allocations: Vec<Allocation>,
    /// For every page from [`GLOBAL_BASE`] on, one more than the index of the allocation that it belongs to.
    pages: Vec<u32>,
    /// Freed allocations, oldest first; their records are reused when there are too many.
    freed: VecDeque<u32>,
    /// What was the last time of all launches so far.
    time: Time,
    /// Bytes that kernels have allocated.
    heap: u64,
}

impl Memory {
    pub(crate) fn new(limit: u64) -> Memory {
        Memory {
            limit,
            used: 0,
            next: GLOBAL_BASE + PAGE,
            allocations: Vec::new(),
            pages: vec![0],
            freed: VecDeque::new(),
            time: 0,
            heap: 0,
        }
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        self.limit - self.used
    }

    pub(crate) fn allocate(&mut self, size: u64) -> Result<u64, MemoryError> {
        let refused = MemoryError::OutOfMemory { asked: size, free: self.free_bytes() };
        if size > self.free_bytes() {
            return Err(refused);
        }
        let Some(block) = Block::new(size) else { return Err(refused) };
        let start = self.next;
        let pages = (size + GUARD).div_ceil(PAGE);
        let allocation = Allocation {
            start,
            size,
            block: Some(block),
            label: None,
            read_only: false,
            on_heap: false,
            initialised: Initialised::nothing(size),
            shadow: Vec::new(),
        };
        let index = if self.freed.len() > REMEMBERED
            && let Some(index) = self.freed.pop_front()
        {
            let old = &mut self.allocations[index as usize];
            let first = page_of(old.start);
            let count = (old.size + GUARD).div_ceil(PAGE) as usize;
            *old = allocation;
            self.pages[first..first + count].fill(0);
            index
        } else {
            self.allocations.push(allocation);
            self.allocations.len() as u32 - 1
        };
        self.pages.resize(self.pages.len() + pages as usize, index + 1);
        self.next += pages * PAGE;
        self.used += size;
        Ok(start)
    }

    pub(crate) fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let index = self.at_start(address)?;
        let allocation = &mut self.allocations[index];
        allocation.block = None;
        allocation.initialised.set_all();
        allocation.shadow = Vec::new();
        self.used -= allocation.size;
        self.freed.push_back(index as u32);
        Ok(())
    }

    /// What `malloc` in a kernel gives: memory that stays until a kernel frees it, as long as the heap has room.
    pub(crate) fn allocate_on_heap(&mut self, size: u64) -> Option<u64> {
        let cost = heap_cost(size);
        if size == 0 || self.heap.saturating_add(cost) > HEAP {
            return None;
        }
        let address = self.allocate(size).ok()?;
        let index = self.at_start(address).ok()?;
        self.allocations[index].on_heap = true;
        self.allocations[index].label = Some(HEAP_LABEL.into());
        self.heap += cost;
        Some(address)
    }

    /// What `free` in a kernel does; false if the address is none that [`Memory::allocate_on_heap`] gave.
    pub(crate) fn free_on_heap(&mut self, address: u64) -> bool {
        let Ok(index) = self.at_start(address) else { return false };
        let Allocation { size, on_heap, .. } = self.allocations[index];
        if on_heap && self.free(address).is_ok() {
            self.heap -= heap_cost(size);
            return true;
        }
        false
    }

    /// Index of the allocation, live or freed, whose pages (guard included) hold `address`.
    #[inline(always)]
    fn index(&self, address: u64) -> Option<usize> {
        let page = usize::try_from(address.wrapping_sub(GLOBAL_BASE) / PAGE).ok()?;
        match self.pages.get(page) {
            Some(&index) if index != 0 => Some(index as usize - 1),
            _ => None,
        }
    }

    /// The live allocation that holds all of `bytes` bytes at `address`, and the offset in it.
    fn range(&self, address: u64, bytes: u64) -> Result<(usize, u64), MemoryError> {
        let index = self.index(address).ok_or(MemoryError::Unknown { address })?;
        let Allocation { start, size, ref block, .. } = self.allocations[index];
        let offset = address - start;
        if offset > size {
            return Err(MemoryError::Unknown { address });
        }
        if block.is_none() {
            return Err(MemoryError::Freed { start, size });
        }
        if bytes > size - offset {
            return Err(MemoryError::OutOfRange { address, bytes, start, size });
        }
        Ok((index, offset))
    }

    fn at_start(&self, address: u64) -> Result<usize, MemoryError> {
        let (index, offset) = self.range(address, 0)?;
        if offset != 0 {
            return Err(MemoryError::NotTheStart { address, start: address - offset });
        }
        Ok(index)
    }

    /// Host address of a range that [`Memory::range`] has accepted.
    fn host(&self, (index, offset): (usize, u64)) -> *mut u8 {
        match &self.allocations[index].block {
            // SAFETY: the offset is at most the size of the block.
            Some(block) => unsafe { block.start.as_ptr().add(offset as usize) },
            None => unreachable!("range refuses freed allocations"),
        }
    }

    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let count = bytes.len() as u64;
        let range = self.range(address, count)?;
        // SAFETY: the range is inside one live block; a slice of the caller's cannot overlap it, unless it was made
        // from the pointer of `Simulator::host_pointer`, hence `copy`.
        unsafe { std::ptr::copy(bytes.as_ptr(), self.host(range), bytes.len()) };
        self.allocations[range.0].initialised.mark(range.1, range.1 + count);
        Ok(())
    }

    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let range = self.range(address, bytes.len() as u64)?;
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy(self.host(range), bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    pub(crate) fn copy(&mut self, to: u64, from: u64, count: u64) -> Result<(), MemoryError> {
        let source = self.range(from, count)?;
        let target = self.range(to, count)?;
        // SAFETY: both ranges are inside live blocks; `copy` allows them to overlap.
        unsafe { std::ptr::copy(self.host(source), self.host(target), count as usize) };
        if source.0 == target.0 {
            self.allocations[target.0].initialised.copy_from(target.1, None, source.1, count);
        } else if let Ok([source_allocation, target_allocation]) =
            self.allocations.get_disjoint_mut([source.0, target.0])
        {
            let known = &source_allocation.initialised;
            target_allocation.initialised.copy_from(target.1, Some(known), source.1, count);
        }
        Ok(())
    }

    pub(crate) fn fill(&mut self, address: u64, count: u64, pattern: &[u8]) -> Result<(), MemoryError> {
        let range = self.range(address, count)?;
        let host = self.host(range);
        let count = count as usize;
        match pattern {
            [] => return Err(MemoryError::EmptyPattern),
            // SAFETY: the range is inside one live block.
            [byte] => unsafe { host.write_bytes(*byte, count) },
            _ => {
                // Doubling what has been written keeps the copies long whatever the pattern.
                let mut done = pattern.len().min(count);
                // SAFETY: `done` is within the range and within the pattern.
                unsafe { std::ptr::copy(pattern.as_ptr(), host, done) };
                while done < count {
                    let more = done.min(count - done);
                    // SAFETY: both parts are within the range, and the second starts where the first ends.
                    unsafe { std::ptr::copy_nonoverlapping(host, host.add(done), more) };
                    done += more;
                }
            }
        }
        self.allocations[range.0].initialised.mark(range.1, range.1 + count as u64);
        Ok(())
    }

    pub(crate) fn host_pointer(&mut self, address: u64) -> Result<NonNull<u8>, MemoryError> {
        let index = self.at_start(address)?;
        let allocation = &mut self.allocations[index];
        allocation.initialised.set_all();
        match &allocation.block {
            Some(block) => Ok(block.start),
            None => unreachable!("range refuses freed allocations"),
        }
    }

    /// Has the allocation that starts at `address` count as written, without touching its pages.
    pub(crate) fn set_initialised(&mut self, address: u64) -> Result<(), MemoryError> {
        let index = self.at_start(address)?;
        self.allocations[index].initialised.set_all();
        Ok(())
    }

    pub(crate) fn label(&mut self, address: u64, text: &str) {
        if let Ok(index) = self.at_start(address) {
            self.allocations[index].label = Some(text.into());
        }
    }

    pub(crate) fn set_read_only(&mut self, address: u64, read_only: bool) -> Result<(), MemoryError> {
        let index = self.at_start(address)?;
        self.allocations[index].read_only = read_only;
        Ok(())
    }

    /// The live allocation nearest below `address`, if `address` is within its pages.
    #[inline(always)]
    pub(crate) fn region(&self, address: u64) -> Option<Region> {
        let index = self.index(address)?;
        let allocation = &self.allocations[index];
        let block = allocation.block.as_ref()?;
        Some(Region {
            start: allocation.start,
            size: allocation.size,
            host: block.start.as_ptr(),
            whole: allocation.initialised.is_all(),
            read_only: allocation.read_only,
            index: index as u32,
        })
    }

    /// Whether `bytes` bytes at `address`, which lie in `region`, have been written.
    #[inline(always)]
    pub(crate) fn written(&self, region: &Region, address: u64, bytes: u64) -> bool {
        let from = address - region.start;
        self.allocations[region.index as usize].initialised.covers(from, from + bytes)
    }

    /// Tidies up after a launch that several host threads ran.
    pub(crate) fn settle(&mut self) {
        self.allocations.iter_mut().for_each(|allocation| allocation.initialised.settle());
    }

    /// The shadow memory of a region.
    #[inline(always)]
    pub(crate) fn shadow(&mut self, region: &Region) -> &mut [lines::Line] {
        let shadow = &mut self.allocations[region.index as usize].shadow;
        if shadow.is_empty() {
            make_shadow(shadow, region.size);
        }
        shadow
    }

    /// The time at which a launch starts: everything before it is in order.
    pub(crate) fn start_launch(&mut self) -> Time {
        if self.time > LAST / 2 {
            self.allocations.iter_mut().for_each(|allocation| allocation.shadow = Vec::new());
            self.time = 0;
        }
        self.time
    }

    /// Records the time at which a launch ends.
    pub(crate) fn end_launch(&mut self, time: Time) {
        self.time = time;
    }

    /// The live allocation that holds `address`, and where in it that is.
    pub(crate) fn place(&self, address: u64) -> Option<Place> {
        let allocation = &self.allocations[self.index(address)?];
        allocation.block.is_some().then(|| allocation.place(address))
    }

    /// What to say of an access that found no region, or one that does not allow it.
    #[cold]
    pub(crate) fn diagnose(&self, access: Access) -> FaultKind {
        let Access { operation, address, bytes, .. } = access;
        if address < NULL_END {
            return FaultKind::Null { access };
        }
        let here = self.index(address).map(|index| &self.allocations[index]);
        if let Some(here) = here {
            let inside = address - here.start < here.size.max(1);
            if inside && here.block.is_none() {
                return FaultKind::Freed { access, place: here.place(address) };
            }
            let fits = address - here.start + u64::from(bytes) <= here.size;
            if fits && here.read_only && operation != Operation::Load {
                return FaultKind::ReadOnly { access, place: here.place(address) };
            }
            if fits {
                return FaultKind::UninitialisedRead { access, place: Some(here.place(address)) };
            }
            if inside {
                return FaultKind::OutOfBounds { access, place: Some(here.place(address)) };
            }
        }
        // Between two allocations: name the nearer one.
        let live = self.allocations.iter().filter(|allocation| allocation.block.is_some());
        let nearest = live.min_by_key(|allocation| {
            let end = allocation.start + allocation.size;
            if address < allocation.start { allocation.start - address } else { address.saturating_sub(end) }
        });
        FaultKind::OutOfBounds { access, place: nearest.map(|allocation| allocation.place(address)) }
    }
}

/// Shadow memory for `size` bytes. It is zeroed by the host's system, so that untouched pages cost nothing.
#[cold]
fn make_shadow(shadow: &mut Vec<lines::Line>, size: u64) {
    *shadow = vec![[0; size_of::<lines::Line>() / 4]; size.div_ceil(lines::LINE) as usize];
}

/// Bytes that an allocation takes from the heap.
fn heap_cost(size: u64) -> u64 {
    size.min(HEAP).next_multiple_of(HEAP_GRANULE) + HEAP_GRANULE
}

/// The memory as one host thread has it that runs blocks of a launch.
pub(crate) enum View<'a> {
    /// It is the only one.
    Alone(&'a mut Memory),
    /// Others run other blocks. The bytes of allocations must be accessed through
    /// [`concurrent`](crate::exec::concurrent).
    Together(&'a Memory),
}

impl Deref for View<'_> {
    type Target = Memory;

    #[inline(always)]
    fn deref(&self) -> &Memory {
        match self {
            View::Alone(memory) => memory,
            View::Together(memory) => memory,
        }
    }
}

impl View<'_> {
    /// The memory, if this host thread is the only one that has it.
    #[inline(always)]
    pub(crate) fn alone(&mut self) -> Option<&mut Memory> {
        match self {
            View::Alone(memory) => Some(memory),
            View::Together(_) => None,
        }
    }

    /// The shadow memory of a region; none where several host threads have the memory.
    #[inline(always)]
    pub(crate) fn shadow(&mut self, region: &Region) -> &mut [lines::Line] {
        self.alone().map_or(&mut [], |memory| memory.shadow(region))
    }

    /// Whether other host threads use the memory at the same time.
    #[inline(always)]
    pub(crate) fn is_together(&self) -> bool {
        matches!(self, View::Together(_))
    }

    /// Records that `bytes` bytes at `address`, which lie in `region`, have been written.
    #[inline(always)]
    pub(crate) fn mark(&mut self, region: &Region, address: u64, bytes: u64) {
        if region.whole {
            return;
        }
        let (from, index) = (address - region.start, region.index as usize);
        match self {
            View::Alone(memory) => memory.allocations[index].initialised.mark(from, from + bytes),
            View::Together(memory) => memory.allocations[index].initialised.mark_together(from, from + bytes),
        }
    }
}

fn page_of(address: u64) -> usize {
    ((address - GLOBAL_BASE) / PAGE) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::MemorySpace;

    #[test]
    fn round_trips_and_refuses_what_leaves_the_allocation() {
        let mut memory = Memory::new(1 << 20);
        let a = memory.allocate(100).unwrap();
        let b = memory.allocate(50).unwrap();
        assert_eq!((a % 256, b % 256), (0, 0));
        memory.write(a, &[7; 100]).unwrap();
        memory.copy(b + 10, a + 5, 40).unwrap();
        let mut bytes = [0; 50];
        memory.read(b, &mut bytes).unwrap();
        assert_eq!((bytes[9], bytes[10], bytes[49]), (0, 7, 7));
        assert!(matches!(memory.write(a + 1, &[0; 100]), Err(MemoryError::OutOfRange { .. })));
        assert!(matches!(memory.read(a + 101, &mut [0]), Err(MemoryError::Unknown { .. })));
        assert!(matches!(memory.free(a + 1), Err(MemoryError::NotTheStart { .. })));
        memory.free(a).unwrap();
        assert!(matches!(memory.free(a), Err(MemoryError::Freed { .. })));
        assert_eq!(memory.free_bytes(), (1 << 20) - 50);
        assert_eq!(memory.allocate(1 << 20), Err(MemoryError::OutOfMemory { asked: 1 << 20, free: (1 << 20) - 50 }));
    }

    #[test]
    fn fills_with_patterns() {
        let mut memory = Memory::new(1 << 20);
        let a = memory.allocate(11).unwrap();
        memory.fill(a, 11, &[1, 2, 3]).unwrap();
        let mut bytes = [0; 11];
        memory.read(a, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2]);
        memory.fill(a + 1, 9, &[9]).unwrap();
        memory.read(a, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 2]);
        assert_eq!(memory.fill(a, 1, &[]), Err(MemoryError::EmptyPattern));
    }

    #[test]
    fn forgets_old_freed_allocations_without_confusing_new_ones() {
        let mut memory = Memory::new(1 << 20);
        let first = memory.allocate(16).unwrap();
        memory.free(first).unwrap();
        assert_eq!(memory.read(first, &mut [0]), Err(MemoryError::Freed { start: first, size: 16 }));
        for _ in 0..2 * REMEMBERED {
            let address = memory.allocate(16).unwrap();
            memory.write(address, &[1; 16]).unwrap();
            memory.free(address).unwrap();
        }
        assert_eq!(memory.read(first, &mut [0]), Err(MemoryError::Unknown { address: first }));
        assert!(memory.allocations.len() < 2 * REMEMBERED);
    }

    #[test]
    fn names_the_nearest_allocation() {
        let mut memory = Memory::new(1 << 20);
        let a = memory.allocate(64).unwrap();
        let b = memory.allocate(64).unwrap();
        memory.label(b, "y");
        let access = |address| Access { operation: Operation::Load, space: MemorySpace::Global, address, bytes: 4 };
        let offset = |address| match memory.diagnose(access(address)) {
            FaultKind::OutOfBounds { place: Some(place), .. } => (place.start, place.offset),
            other => panic!("{other}"),
        };
        assert_eq!(offset(a + 64), (a, 64));
        assert_eq!(offset(a + 62), (a, 62));
        assert_eq!(offset(b - 4), (b, -4));
        assert!(memory.diagnose(access(b + 80)).to_string().contains("16 bytes past the end of `y`"));
        assert!(matches!(memory.diagnose(access(16)), FaultKind::Null { .. }));
    }

    #[test]
    fn large_allocations_touch_no_pages() {
        let mut memory = Memory::new(1 << 40);
        let a = memory.allocate(1 << 33).unwrap();
        memory.write(a + (1 << 32), &[5]).unwrap();
        let mut byte = [0];
        memory.read(a + (1 << 32), &mut byte).unwrap();
        assert_eq!(byte, [5]);
    }
}
