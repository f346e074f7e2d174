//! Wavefronts: how often the banks of shared memory serve a request.
//!
//! Shared memory has 32 banks, each a word of 32 bits wide. A wavefront serves one word of each bank, to every lane that
//! wants it. What a request takes follows from its addresses:
//!
//! * Up to 32 bits a lane: as many as there are distinct words in the bank that has most.
//! * 64 bits: each half-warp like that, one after the other. 128 bits: each quarter-warp.
//! * But two halves that a *load* of 64 bits reads, or the two quarters of a half-warp that one of 128 bits reads, take a
//!   single wavefront together, if they have no more than one distinct word in any bank and if their lanes agree in
//!   pairs: each lane with the neighbour whose number differs in bit 0, or each with the one whose number differs in
//!   bit 1. Lanes agree if they have the same address or if one of them is not active.
//! * Atomics serve one lane in each bank, whatever its address: as many as there are lanes in the bank that has most,
//!   by half-warps where they are of 64 bits. Comparing and swapping takes it twice.
//!
//! These are the counts of Nsight Compute for each instruction of `tests/profile` on an H200.

use super::memory::{Addresses, Pattern, pattern};
use crate::rows::{LANES, lanes};

/// Banks, each a word wide.
const BANKS: usize = 32;
/// Bytes of a word, as a power of two.
const WORD: u32 = 2;

/// Lanes that are served at once.
#[inline(always)]
fn lanes_at_once(width: u64) -> usize {
    match width {
        0..=4 => 32,
        5..=8 => 16,
        _ => 8,
    }
}

/// The lanes of `mask`, by groups of `size` neighbours; groups without any are left out.
#[inline(always)]
fn groups(mask: u32, size: usize) -> impl Iterator<Item = u32> {
    let group = u32::MAX >> (LANES - size);
    (0..LANES).step_by(size).map(move |first| mask & group << first).filter(|&group| group != 0)
}

/// Wavefronts of loads of `width` bytes by the lanes of `mask`.
pub(crate) fn load(addresses: &Addresses, mask: u32, width: u64) -> u64 {
    let at_once = lanes_at_once(width);
    if at_once == LANES {
        return store(addresses, mask, width);
    }
    let both = |mask| if served_together(addresses, mask, width) { 1 } else { store(addresses, mask, width) };
    groups(mask, 2 * at_once).map(both).sum()
}

/// Wavefronts of stores of `width` bytes by the lanes of `mask`.
pub(crate) fn store(addresses: &Addresses, mask: u32, width: u64) -> u64 {
    if let (Pattern::Strided { count, stride, .. }, 4) = (pattern(addresses, mask, width), width)
        && stride % 4 == 0
    {
        // Lanes whose words are a whole number of cycles apart share a bank.
        let cycle = (BANKS as u64 >> (stride / 4).trailing_zeros().min(5)) as usize;
        return count.div_ceil(cycle) as u64;
    }
    groups(mask, lanes_at_once(width)).map(|group| most_words(addresses, group, width.div_ceil(4))).sum()
}

/// Wavefronts of loads by the lanes of `mask`, all from the same address.
#[inline(always)]
pub(crate) fn load_of_same(mask: u32, width: u64) -> u64 {
    groups(mask, (2 * lanes_at_once(width)).min(LANES)).count() as u64
}

/// Wavefronts of loads of `count` lanes from `first` on, each of what follows on the one before.
#[inline(always)]
pub(crate) fn load_of_run(first: usize, count: usize, width: u64) -> u64 {
    // Longer runs have neighbours of either kind, which do not agree.
    if count > 4 || width <= 4 {
        return store_of_run(first, count, width);
    }
    let addresses: Addresses = std::array::from_fn(|lane| (lane as u64 * width).wrapping_sub(first as u64 * width));
    load(&addresses, u32::MAX >> (LANES - count) << first, width)
}

/// Wavefronts of stores of `count` lanes from `first` on: each group of lanes that is served at once takes one.
#[inline(always)]
pub(crate) fn store_of_run(first: usize, count: usize, width: u64) -> u64 {
    let at_once = lanes_at_once(width);
    ((first + count - 1) / at_once - first / at_once + 1) as u64
}

/// Wavefronts of atomics on `width` bytes by the lanes of `mask`.
pub(crate) fn atomic(addresses: &Addresses, mask: u32, width: u64, compares: bool) -> u64 {
    let most_lanes = |group| {
        let mut count = [0u8; BANKS];
        for lane in lanes(group) {
            count[bank(addresses[lane] >> WORD)] += 1;
        }
        u64::from(count.into_iter().max().unwrap_or(0))
    };
    let once: u64 = groups(mask, lanes_at_once(width)).map(most_lanes).sum();
    if compares { 2 * once } else { once }
}

#[inline(always)]
fn bank(word: u64) -> usize {
    word as usize % BANKS
}

/// Whether the two groups of lanes in `mask` that are usually served one after the other take one wavefront together.
fn served_together(addresses: &Addresses, mask: u32, width: u64) -> bool {
    let agree = |distance: usize| {
        lanes(mask).all(|lane| mask >> (lane ^ distance) & 1 == 0 || addresses[lane ^ distance] == addresses[lane])
    };
    (agree(1) || agree(2)) && without_conflict(addresses, mask, width.div_ceil(4))
}

/// Whether no bank has two distinct words.
fn without_conflict(addresses: &Addresses, mask: u32, words: u64) -> bool {
    let mut served = [None; BANKS];
    lanes(mask).all(|lane| {
        (0..words).all(|word| {
            let word = (addresses[lane] >> WORD).wrapping_add(word);
            *served[bank(word)].get_or_insert(word) == word
        })
    })
}

/// The largest number of distinct words in one bank, of lanes that are served at once.
fn most_words(addresses: &Addresses, mask: u32, words: u64) -> u64 {
    // The distinct words of each bank as linked lists: the last word seen in the bank, and before each word another.
    const NONE: u8 = u8::MAX;
    let mut last = [NONE; BANKS];
    let mut count = [0u8; BANKS];
    let mut seen = [(0u64, NONE); LANES];
    let mut used = 0;
    for lane in lanes(mask) {
        for word in 0..words {
            let word = (addresses[lane] >> WORD).wrapping_add(word);
            let bank = bank(word);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(stride: u64) -> Addresses {
        std::array::from_fn(|lane| stride * lane as u64)
    }

    #[test]
    fn counts_what_stores_take() {
        assert_eq!(store(&strided(4), u32::MAX, 4), 1);
        assert_eq!(store(&strided(8), u32::MAX, 4), 2);
        assert_eq!(store(&strided(128), u32::MAX, 4), 32);
        assert_eq!(store(&strided(132), u32::MAX, 4), 1);
        assert_eq!(store(&strided(0), u32::MAX, 4), 1);
        assert_eq!(store(&strided(1), u32::MAX, 1), 1);
        assert_eq!(store(&strided(128), 0b111, 4), 3);
        assert_eq!(store(&strided(8), u32::MAX, 8), 2);
        assert_eq!(store(&strided(8), 0xffff, 8), 1);
        assert_eq!(store(&strided(0), u32::MAX, 8), 2);
        assert_eq!(store(&strided(16), u32::MAX, 16), 4);
        assert_eq!(store(&strided(16), 0x00ff_0000, 16), 1);
        assert_eq!(store(&strided(0), u32::MAX, 16), 4);
        assert_eq!(store(&strided(256), u32::MAX, 8), 32);
    }

    #[test]
    fn loads_of_pairs_that_agree_take_half() {
        let pairs: Addresses = std::array::from_fn(|lane| 8 * (lane as u64 / 2));
        assert_eq!((load(&pairs, u32::MAX, 8), store(&pairs, u32::MAX, 8)), (1, 2));
        let two: Addresses = std::array::from_fn(|lane| 16 * (lane as u64 % 2));
        assert_eq!((load(&two, u32::MAX, 16), store(&two, u32::MAX, 16)), (2, 4));
        let four: Addresses = std::array::from_fn(|lane| 8 * (lane as u64 % 4));
        assert_eq!(load(&four, u32::MAX, 8), 2, "no neighbours agree");
        let apart: Addresses = std::array::from_fn(|lane| 16 * (lane as u64 / 2));
        assert_eq!(load(&apart, u32::MAX, 8), 2, "two words in a bank");
        assert_eq!(load(&strided(8), u32::MAX, 8), 2);
        assert_eq!(load(&strided(16), u32::MAX, 16), 4);
    }

    #[test]
    fn atomics_count_lanes() {
        assert_eq!(atomic(&strided(4), u32::MAX, 4, false), 1);
        assert_eq!(atomic(&strided(0), u32::MAX, 4, false), 32);
        assert_eq!(atomic(&strided(0), 0b1011, 4, true), 6);
        assert_eq!(atomic(&strided(8), u32::MAX, 8, true), 4);
    }

    #[test]
    fn shortcuts_count_like_the_addresses() {
        for width in [1, 2, 4, 8, 16] {
            for first in 0..LANES {
                for count in 1..=LANES - first {
                    let mask = (u32::MAX >> (LANES - count)) << first;
                    let case = format!("width {width}, lanes {first}..+{count}");
                    assert_eq!(load_of_run(first, count, width), load(&strided(width), mask, width), "{case}");
                    assert_eq!(store_of_run(first, count, width), store(&strided(width), mask, width), "{case}");
                    assert_eq!(load_of_same(mask, width), load(&strided(0), mask, width), "{case}");
                }
            }
        }
    }
}
