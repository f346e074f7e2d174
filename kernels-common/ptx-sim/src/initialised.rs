//! Which bytes of a piece of memory have been written.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::sync::atomic::{AtomicU64, Ordering};

/// One bit per byte; nothing at all once every byte has been written.
#[derive(Debug)]
pub(crate) struct Initialised {
    /// Empty when all bytes are written (or there are none), but for those that threads have completed together.
    bits: Vec<AtomicU64>,
    missing: AtomicU64,
}

/// The words that the bytes `from..to` touch, each with the bits of that range.
fn words(from: u64, to: u64) -> impl Iterator<Item = (usize, u64)> {
    let (first, last) = (from / 64, to.div_ceil(64));
    (first..last).map(move |word| {
        let low = if word == first { u64::MAX << (from % 64) } else { u64::MAX };
        let high = if word + 1 == last && !to.is_multiple_of(64) { u64::MAX >> (64 - to % 64) } else { u64::MAX };
        (word as usize, low & high)
    })
}

/// Zeros from the system, so that those of untouched pages cost nothing.
fn zeros(count: usize) -> Vec<AtomicU64> {
    // A count that no vector can have is left to the vector to refuse.
    let layout = match Layout::array::<AtomicU64>(count) {
        Ok(layout) if layout.size() != 0 => layout,
        _ => return (0..count).map(|_| AtomicU64::default()).collect(),
    };
    // SAFETY: the size is not zero.
    let start = unsafe { alloc_zeroed(layout) }.cast::<AtomicU64>();
    if start.is_null() {
        handle_alloc_error(layout);
    }
    // SAFETY: allocated just now by the global allocator, with the layout of a vector of this capacity; zeros are
    // values.
    unsafe { Vec::from_raw_parts(start, count, count) }
}

impl Initialised {
    /// Memory of `size` bytes that nobody has written.
    pub(crate) fn nothing(size: u64) -> Initialised {
        Initialised { bits: zeros(size.div_ceil(64) as usize), missing: AtomicU64::new(size) }
    }

    /// Whether every byte has been written.
    #[inline(always)]
    pub(crate) fn is_all(&self) -> bool {
        self.missing.load(Ordering::Relaxed) == 0
    }

    /// Records that every byte has been written.
    pub(crate) fn set_all(&mut self) {
        self.bits = Vec::new();
        *self.missing.get_mut() = 0;
    }

    /// Drops the bits if threads have completed them together.
    pub(crate) fn settle(&mut self) {
        if self.is_all() {
            self.bits = Vec::new();
        }
    }

    /// Records that no byte of the first `size` has been written; keeps the storage.
    pub(crate) fn clear(&mut self, size: u64) {
        self.bits.resize_with(size.div_ceil(64) as usize, AtomicU64::default);
        self.bits.iter_mut().for_each(|bits| *bits.get_mut() = 0);
        *self.missing.get_mut() = size;
    }

    /// Whether the bytes `from..to`, which lie within the memory, have all been written.
    #[inline]
    pub(crate) fn covers(&self, from: u64, to: u64) -> bool {
        self.is_all() || words(from, to).all(|(word, bits)| self.bits[word].load(Ordering::Relaxed) & bits == bits)
    }

    /// Records that the bytes `from..to`, which lie within the memory, have been written.
    #[inline]
    pub(crate) fn mark(&mut self, from: u64, to: u64) {
        if self.is_all() {
            return;
        }
        self.mark_words(from, to);
        self.settle();
    }

    fn mark_words(&mut self, from: u64, to: u64) {
        for (word, bits) in words(from, to) {
            let known = self.bits[word].get_mut();
            let fresh = bits & !*known;
            *known |= bits;
            *self.missing.get_mut() -= u64::from(fresh.count_ones());
        }
    }

    /// Records that the bytes `from..to` of `size` in all have not been written.
    pub(crate) fn forget(&mut self, from: u64, to: u64, size: u64) {
        if self.is_all() {
            self.clear(size);
            self.mark_words(0, size);
        }
        for (word, bits) in words(from, to) {
            let known = self.bits[word].get_mut();
            *self.missing.get_mut() += u64::from((bits & *known).count_ones());
            *known &= !bits;
        }
    }

    /// [`Initialised::mark`], where several threads may do so at once.
    #[inline]
    pub(crate) fn mark_together(&self, from: u64, to: u64) {
        if self.is_all() {
            return;
        }
        for (word, bits) in words(from, to) {
            let known = &self.bits[word];
            // Most often somebody has been here already.
            if known.load(Ordering::Relaxed) & bits != bits {
                let fresh = bits & !known.fetch_or(bits, Ordering::Relaxed);
                self.missing.fetch_sub(fresh.count_ones().into(), Ordering::Relaxed);
            }
        }
    }

    /// Makes the bytes `to..to + count` here as written as the bytes `from..` of `source` (`None`: of this memory).
    pub(crate) fn copy_from(&mut self, to: u64, source: Option<&Initialised>, from: u64, count: u64) {
        if source.unwrap_or(self).covers(from, from + count) {
            self.mark(to, to + count);
            return;
        }
        let known: Vec<bool> = {
            let source = source.unwrap_or(self);
            (from..from + count).map(|byte| source.covers(byte, byte + 1)).collect()
        };
        for (byte, known) in (to..).zip(known) {
            if known {
                self.mark(byte, byte + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_exactly_the_range() {
        for (from, to) in [(0, 1), (0, 64), (63, 65), (5, 200), (64, 128), (127, 128), (0, 300)] {
            let mut map = Initialised::nothing(300);
            map.mark(from, to);
            for byte in 0..300 {
                assert_eq!(map.covers(byte, byte + 1), (from..to).contains(&byte), "{from}..{to}, byte {byte}");
            }
            assert!(map.covers(from, to));
            assert_eq!(map.is_all(), (from, to) == (0, 300));
        }
    }

    #[test]
    fn becomes_whole_piece_by_piece() {
        let mut map = Initialised::nothing(130);
        map.mark(0, 64);
        map.mark(32, 129);
        assert!(!map.is_all());
        map.mark(129, 130);
        assert!(map.is_all());
        map.clear(10);
        assert!(!map.covers(0, 1));
    }

    #[test]
    fn forgets_exactly_the_range() {
        for (from, to) in [(0, 1), (60, 70), (0, 130), (129, 130)] {
            let mut map = Initialised::nothing(130);
            map.mark(0, 130);
            map.forget(from, to, 130);
            for byte in 0..130 {
                assert_eq!(map.covers(byte, byte + 1), !(from..to).contains(&byte), "{from}..{to}, byte {byte}");
            }
            map.mark(from, to);
            assert!(map.is_all());
        }
    }

    #[test]
    fn threads_mark_together() {
        let mut map = Initialised::nothing(1000);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let map = &map;
                scope.spawn(move || {
                    (0..250).for_each(|byte| map.mark_together(4 * byte + thread, 4 * byte + thread + 1));
                });
            }
        });
        assert!(map.is_all() && map.covers(0, 1000));
        map.settle();
        assert!(map.bits.is_empty() && map.covers(0, 1000));
    }

    #[test]
    fn copies_what_is_known() {
        let mut from = Initialised::nothing(16);
        from.mark(4, 8);
        let mut to = Initialised::nothing(16);
        to.copy_from(1, Some(&from), 2, 8);
        let known: Vec<u64> = (0..16).filter(|&byte| to.covers(byte, byte + 1)).collect();
        assert_eq!(known, [3, 4, 5, 6]);
    }
}
