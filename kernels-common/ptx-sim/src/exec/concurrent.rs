//! Global memory that several host threads use at the same time.
//!
//! Every access here is made of relaxed atomic ones of aligned words of four bytes, whatever its own size: what threads
//! of a kernel do without order is then a race of the kernel, but none of this program. Wider accesses are several, so
//! that another thread may see part of one; atomics of eight bytes exclude each other by locks.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::atomic::AtomicOp;
use super::memory::{self, Element, Hosts, Loaded};
use crate::rows::{LANES, lanes};

/// Bytes of a word.
const WORD: usize = 4;
/// Bytes of the longest run: 32 lanes with 16 bytes each.
const LONGEST: usize = LANES * 16;

/// Room for a run, copied out of or into memory.
#[repr(align(16))]
struct Buffer([u8; LONGEST]);

impl Buffer {
    const EMPTY: Buffer = Buffer([0; LONGEST]);

    /// Copies `bytes` bytes at `host` to the start of the buffer.
    ///
    /// # Safety
    /// All words that the bytes lie in must be those of memory that is accessed through this file alone for the time of
    /// the call; there must be at most [`LONGEST`] bytes.
    unsafe fn copy_from(&mut self, host: *const u8, bytes: usize) {
        let target = &mut self.0[..bytes];
        if host.addr().is_multiple_of(WORD) && bytes.is_multiple_of(WORD) {
            for (index, word) in target.chunks_exact_mut(WORD).enumerate() {
                // SAFETY: the caller's promise.
                let bits = unsafe { word_at(host.add(WORD * index)) }.load(Ordering::Relaxed);
                word.copy_from_slice(&bits.to_ne_bytes());
            }
            return;
        }
        for (index, byte) in target.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *byte = unsafe { load(host.add(index), 1) } as u8;
        }
    }

    /// Copies `bytes` bytes from the start of the buffer to `host`.
    ///
    /// # Safety
    /// As for [`Buffer::copy_from`], and the bytes must be writable.
    unsafe fn copy_to(&self, host: *mut u8, bytes: usize) {
        let source = &self.0[..bytes];
        if host.addr().is_multiple_of(WORD) && bytes.is_multiple_of(WORD) {
            for (index, word) in source.chunks_exact(WORD).enumerate() {
                let bits = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
                // SAFETY: the caller's promise.
                unsafe { word_at(host.add(WORD * index)) }.store(bits, Ordering::Relaxed);
            }
            return;
        }
        for (index, &byte) in source.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { store(host.add(index), 1, byte.into()) };
        }
    }
}

/// [`memory::load_run`] from memory that others write to.
///
/// # Safety
/// As for [`Buffer::copy_from`], for the vectors that are loaded.
#[inline(never)]
pub(crate) unsafe fn load_run<T: Element, const V: usize>(
    host: *const u8,
    first: usize,
    count: usize,
    same: bool,
    loaded: &mut Loaded<T, V>,
) {
    let mut buffer = Buffer::EMPTY;
    // SAFETY: the caller's promise; the buffer holds what 32 lanes load.
    unsafe {
        buffer.copy_from(host, if same { 1 } else { count } * size_of::<T>() * V);
        memory::load_run::<T, V>(buffer.0.as_ptr(), first, count, same, loaded);
    }
}

/// [`memory::store_run`] to memory that others use.
///
/// # Safety
/// As for [`Buffer::copy_to`], for the vectors that are stored.
#[inline(never)]
pub(crate) unsafe fn store_run<T: Element, const V: usize>(
    host: *mut u8,
    first: usize,
    count: usize,
    values: &[&[T::Raw; LANES]; V],
) {
    let mut buffer = Buffer::EMPTY;
    // SAFETY: the caller's promise; the buffer holds what 32 lanes store.
    unsafe {
        memory::store_run::<T, V>(buffer.0.as_mut_ptr(), first, count, values);
        buffer.copy_to(host, count * size_of::<T>() * V);
    }
}

/// The word at `host`, a multiple of its size.
///
/// # Safety
/// As for [`Buffer::copy_from`].
#[inline(always)]
unsafe fn word_at<'a>(host: *const u8) -> &'a AtomicU32 {
    // SAFETY: the caller's promise; allocations start at multiples of 256 bytes.
    unsafe { AtomicU32::from_ptr(host.cast_mut().cast()) }
}

/// The word that `host` lies in, and the shift of its bits.
///
/// # Safety
/// As for [`Buffer::copy_from`].
#[inline(always)]
unsafe fn word_around<'a>(host: *const u8) -> (&'a AtomicU32, u32) {
    let offset = host.addr() % WORD;
    let byte = if cfg!(target_endian = "little") { offset } else { WORD - 1 - offset };
    // SAFETY: the caller's promise.
    (unsafe { word_at(host.sub(offset)) }, 8 * byte as u32)
}

/// The value of `size` bytes (1, 2, 4 or 8) at `host`, zero-extended.
///
/// # Safety
/// As for [`Buffer::copy_from`].
#[inline]
unsafe fn load(host: *const u8, size: usize) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        if size == 4 && host.addr().is_multiple_of(WORD) {
            return word_at(host).load(Ordering::Relaxed).into();
        }
        if size == 1 {
            let (word, shift) = word_around(host);
            return (word.load(Ordering::Relaxed) >> shift & 0xff).into();
        }
        let mut bytes = [0; 8];
        let parts = if size == 8 && host.addr().is_multiple_of(WORD) { WORD } else { 1 };
        for at in (0..size).step_by(parts) {
            let part = load(host.add(at), parts).to_le_bytes();
            bytes[at..at + parts].copy_from_slice(&part[..parts]);
        }
        u64::from_le_bytes(bytes)
    }
}

/// Writes the value of `size` bytes (1, 2, 4 or 8) at `host`.
///
/// # Safety
/// As for [`Buffer::copy_to`].
#[inline]
unsafe fn store(host: *mut u8, size: usize, value: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        if size == 4 && host.addr().is_multiple_of(WORD) {
            word_at(host).store(value as u32, Ordering::Relaxed);
            return;
        }
        if size == 1 {
            let (word, shift) = word_around(host);
            let (mask, bits) = (0xffu32 << shift, (value as u32 & 0xff) << shift);
            // The other bytes of the word belong to others.
            let _ = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(old & !mask | bits));
            return;
        }
        let parts = if size == 8 && host.addr().is_multiple_of(WORD) { WORD } else { 1 };
        for at in (0..size).step_by(parts) {
            store(host.add(at), parts, value >> (8 * at));
        }
    }
}

/// The elements at `offset` from each pointer, zero-extended; zeros where it is null.
///
/// # Safety
/// As for [`Buffer::copy_from`], for the `size` bytes of each element.
pub(crate) unsafe fn gather(hosts: &Hosts, mask: u32, offset: u64, size: u64) -> [u64; LANES] {
    let mut values = [0; LANES];
    for lane in lanes(mask) {
        if !hosts[lane].is_null() {
            // SAFETY: the caller's promise.
            values[lane] = unsafe { load(hosts[lane].add(offset as usize), size as usize) };
        }
    }
    values
}

/// Writes the elements at `offset` from each pointer that is not null.
///
/// # Safety
/// As for [`Buffer::copy_to`], for the `size` bytes of each element.
pub(crate) unsafe fn scatter(
    hosts: &Hosts,
    order: impl Iterator<Item = usize>,
    offset: u64,
    size: u64,
    values: &[u64; LANES],
) {
    for lane in order {
        if !hosts[lane].is_null() {
            // SAFETY: the caller's promise.
            unsafe { store(hosts[lane].add(offset as usize), size as usize, values[lane]) };
        }
    }
}

/// Locks of atomics that are no single word, by address.
static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];

/// Replaces the value at `host`, and gives the old and the new one. What the thread did before is seen by whoever
/// replaces the value after it.
///
/// # Safety
/// As for [`Buffer::copy_to`], for the `op.bytes` bytes of the value.
pub(crate) unsafe fn exchange(host: *mut u8, op: &AtomicOp, b: u64, c: u64) -> (u64, u64) {
    let bytes = op.bytes as usize;
    let offset = host.addr() % WORD;
    let fields = if bytes == 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 };
    let update = |old| (op.update)(old, b & fields, c & fields) & fields;
    if offset + bytes <= WORD {
        let low = if cfg!(target_endian = "little") { offset } else { WORD - bytes - offset };
        let (shift, mask) = (8 * low as u32, (fields as u32) << (8 * low));
        // SAFETY: the caller's promise; the word holds the whole value.
        let word = unsafe { word_at(host.sub(offset)) };
        let value = |bits: u32| u64::from((bits & mask) >> shift);
        let replace = |bits: u32| Some(bits & !mask | (update(value(bits)) as u32) << shift);
        let (Ok(old) | Err(old)) = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, replace);
        return (value(old), update(value(old)));
    }
    // Misaligned values, which only unchecked launches have, may lie across two locks; they exclude nobody.
    let _guard = LOCKS[host.addr() / 8 % LOCKS.len()].lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the caller's promise.
    unsafe {
        let old = load(host, bytes);
        let new = update(old);
        store(host, bytes, new);
        (old, new)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicPtr;

    use super::*;

    /// Memory whose words can all be accessed, from a multiple of four on.
    fn words() -> [u32; 64] {
        std::array::from_fn(|index| u32::from_le_bytes(std::array::from_fn(|byte| (4 * index + byte) as u8)))
    }

    #[test]
    fn any_size_at_any_place() {
        for size in [1, 2, 4, 8] {
            for at in 0..9 {
                let mut memory = words();
                let start = memory.as_mut_ptr().cast::<u8>();
                // SAFETY: within the array, which nobody else uses.
                unsafe {
                    let expected = (0..size).rev().fold(0, |bits, byte| bits << 8 | (at + byte) as u64);
                    assert_eq!(load(start.add(at), size), expected, "{size} bytes at {at}");
                    store(start.add(at), size, !expected);
                    assert_eq!(load(start.add(at), size), !expected & (u64::MAX >> (64 - 8 * size)));
                    for byte in (0..at).chain(at + size..32) {
                        assert_eq!(load(start.add(byte), 1), byte as u64, "byte {byte} beside {size} at {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn runs_are_copied_whole() {
        for (at, bytes) in [(0, 256), (4, 128), (2, 64), (1, 33), (3, 1), (8, 0)] {
            let mut memory = words();
            let start = memory.as_mut_ptr().cast::<u8>();
            let mut buffer = Buffer::EMPTY;
            // SAFETY: within the array, which nobody else uses.
            unsafe {
                buffer.copy_from(start.add(at), bytes);
                assert!((0..bytes).all(|index| buffer.0[index] == (at + index) as u8), "{bytes} bytes at {at}");
                buffer.0.iter_mut().for_each(|byte| *byte = 0xee);
                buffer.copy_to(start.add(at), bytes);
                for byte in 0..256 {
                    let written = (at..at + bytes).contains(&byte);
                    assert_eq!(load(start.add(byte), 1), if written { 0xee } else { byte as u64 }, "byte {byte}");
                }
            }
        }
    }

    /// Times that each thread does its part.
    const TIMES: u64 = if cfg!(miri) { 50 } else { 500_000 };

    /// Runs `work` with the numbers from 0 to 3 and the address of `memory`, on threads that start together.
    fn together(memory: &mut [u32; 8], work: impl Fn(usize, *mut u8) + Sync) {
        let start = AtomicPtr::new(memory.as_mut_ptr().cast::<u8>());
        let line = Barrier::new(4);
        let run = |number| {
            line.wait();
            work(number, start.load(Ordering::Relaxed));
        };
        std::thread::scope(|scope| (0..4).for_each(|number| drop(scope.spawn(move || run(number)))));
    }

    #[test]
    fn additions_of_many_threads_are_all_there() {
        for (bytes, at) in [(2, 2), (4, 4), (8, 8)] {
            let update = |old: u64, b: u64, _| old.wrapping_add(b);
            let op = AtomicOp { bytes, align: bytes, counts: true, update, result: false, compares: false };
            let mut memory = [0u32; 8];
            together(&mut memory, |_, start| {
                for _ in 0..TIMES {
                    // SAFETY: within the array, which all threads use through this file.
                    unsafe { exchange(start.add(at), &op, 3, 0) };
                }
            });
            // SAFETY: within the array, which nobody else uses any more.
            let sum = unsafe { load(memory.as_mut_ptr().cast::<u8>().add(at), bytes as usize) };
            assert_eq!(sum, (12 * TIMES) & (u64::MAX >> (64 - 8 * bytes)), "{bytes} bytes");
        }
    }

    #[test]
    fn neighbours_do_not_undo_each_other() {
        for size in [1, 2, 4] {
            let mut memory = [0u32; 8];
            together(&mut memory, |number, start| {
                for time in 0..TIMES {
                    // SAFETY: within the array, which all threads use through this file.
                    let found = unsafe {
                        let mine = start.add(size * number);
                        store(mine, size, time);
                        load(mine, size)
                    };
                    assert_eq!(found, time & (u64::MAX >> (64 - 8 * size)), "{size} bytes, thread {number}");
                }
            });
        }
    }
}
