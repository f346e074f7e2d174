//! Shadow memory of global memory, by lines of 128 bytes.
//!
//! A line has room for a few records of what a warp did to a range of it with one instruction, in which consecutive
//! lanes have consecutive bytes, or all lanes the same. So a warp that streams through memory leaves one record a line.
//! A line that sees anything else is given [cells](super::cells).

use super::cells::{Accessor, Cells};
use super::clock::Time;
use super::record::{Id, Record, insert};
use crate::rows::{BIT, LANES};

/// Bytes of a line.
pub(crate) const LINE: u64 = 128;
/// Records of a line.
const SLOTS: usize = 4;

/// Four records in columns: times, blocks, identities and ranges.
pub(crate) type Line = [u32; 4 * SLOTS];

const TIME: usize = 0;
const BLOCK: usize = SLOTS;
const IDENTITY: usize = 2 * SLOTS;
const RANGE: usize = 3 * SLOTS;

/// Which lanes access which bytes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// First byte.
    pub(crate) from: u32,
    /// One past the last byte.
    pub(crate) to: u32,
    /// The first of the lanes, which are consecutive.
    pub(crate) first: u32,
    pub(crate) lanes: Lanes,
}

/// How a range is divided among its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lanes {
    /// So many bytes, as a power of two, for each lane.
    Bytes(u32),
    /// This many lanes access all of it.
    All(u32),
}

const ALL: u32 = 1 << 19;

impl Range {
    fn pack(self) -> u32 {
        let lanes = match self.lanes {
            Lanes::Bytes(step) => step,
            Lanes::All(count) => ALL >> 19 << 5 | (count - 1) & 31,
        };
        self.from | (self.to - 1) << 7 | self.first << 14 | lanes << 19
    }

    fn unpack(bits: u32) -> Range {
        let lanes = bits >> 19;
        Range {
            from: bits & 127,
            to: (bits >> 7 & 127) + 1,
            first: bits >> 14 & 31,
            lanes: if lanes & 32 != 0 { Lanes::All((lanes & 31) + 1) } else { Lanes::Bytes(lanes & 31) },
        }
    }

    /// The lanes that access a byte of the range.
    pub(crate) fn mask(self, byte: u32) -> u32 {
        match self.lanes {
            Lanes::Bytes(step) => BIT[(self.first + ((byte - self.from) >> step)) as usize % LANES],
            Lanes::All(count) => (u32::MAX >> (LANES as u32 - count)) << self.first,
        }
    }

    /// Whether every byte of both, which overlap, is accessed by the same single lane; may say no although it is.
    fn is_aligned_with(self, other: Range) -> bool {
        match (self.lanes, other.lanes) {
            (Lanes::Bytes(a), Lanes::Bytes(b)) => {
                a == b && self.from.wrapping_sub(self.first << a) == other.from.wrapping_sub(other.first << b)
            }
            (Lanes::All(1), _) | (_, Lanes::All(1)) => {
                let (from, last) = (self.from.max(other.from), self.to.min(other.to) - 1);
                let mask = self.mask(from);
                mask == other.mask(from) && mask == self.mask(last) && mask == other.mask(last)
            }
            _ => false,
        }
    }

    /// Whether every lane of this range accesses all of `other`.
    fn is_by_lanes_of(self, other: Range) -> bool {
        matches!(other.lanes, Lanes::All(_))
            && matches!(self.lanes, Lanes::All(_))
            && self.mask(self.from) & !other.mask(other.from) == 0
    }
}

/// In place of the range of the first record: the line has cells, whose number is in place of the block.
const IN_WORDS: u32 = 1 << 31;
const IN_BYTES: u32 = 1 << 30;

/// The cells of the lines of a launch that need them: one for each word, or for each byte.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    pub(crate) words: Cells,
    pub(crate) bytes: Cells,
}

/// Cells of a line in one of the pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InCells {
    /// The first of them.
    pub(crate) first: usize,
    /// Whether they are bytes.
    pub(crate) bytes: bool,
}

impl InCells {
    /// Bytes of a cell, as a power of two.
    pub(crate) fn shift(self) -> u32 {
        if self.bytes { 0 } else { 2 }
    }
}

impl Pools {
    pub(crate) fn of(&mut self, bytes: bool) -> &mut Cells {
        if bytes { &mut self.bytes } else { &mut self.words }
    }
}

/// The cells of a line, if it has any.
pub(crate) fn cells(line: &Line, launch_floor: Time) -> Option<InCells> {
    let marks = line[RANGE] & (IN_WORDS | IN_BYTES);
    (marks != 0 && line[TIME] > launch_floor).then(|| InCells { first: line[BLOCK] as usize, bytes: marks == IN_BYTES })
}

/// Checks and records a weak access if nothing is the matter and the line has room for it, and no cells. Otherwise gives
/// false, and records nothing.
#[inline(always)]
pub(crate) fn touch(line: &mut Line, new: Range, time: Time, id: Id, by: &Accessor<'_>) -> bool {
    if (0..SLOTS).all(|slot| line[TIME + slot] <= by.launch_floor) {
        line[TIME] = time;
        line[BLOCK] = by.threads.block;
        line[IDENTITY] = id.0;
        line[RANGE] = new.pack();
        return true;
    }
    touch_again(line, new, time, id, by)
}

/// [`touch`] of a line that has records of this launch.
fn touch_again(line: &mut Line, new: Range, time: Time, id: Id, by: &Accessor<'_>) -> bool {
    if cells(line, by.launch_floor).is_some() {
        return false;
    }
    let here = by.threads.block;
    let mut free = None;
    let mut outweighed = 0u32;
    // Reads of other threads that cover the range.
    let mut reads: [Option<Record>; 2] = [None, None];
    for slot in 0..SLOTS {
        let (old_time, block) = (line[TIME + slot], line[BLOCK + slot]);
        if old_time <= by.launch_floor {
            free = free.or(Some(slot));
            continue;
        }
        let old = Range::unpack(line[RANGE + slot]);
        if old.to <= new.from || new.to <= old.from {
            continue;
        }
        let old_id = Id(line[IDENTITY + slot]);
        let same_warp = block == here && old_id.warp() == id.warp();
        // Lanes that read again leave what they have read before behind.
        let again = || !id.writes() && !old_id.writes() && old.is_by_lanes_of(new);
        let ordered = same_warp && (old.is_aligned_with(new) || again() || old_time <= by.threads.warp_floor(by.warp))
            || block == here && old_time <= by.threads.floor
            || block != here && by.threads.warp_knows_block(by.warp, block, old_time);
        if ordered {
            let covered = new.from <= old.from && old.to <= new.to;
            if covered && (id.writes() || !old_id.writes()) {
                outweighed |= 1 << slot;
                free = free.or(Some(slot));
            }
        } else if id.writes() || old_id.writes() {
            return false;
        } else if old.from <= new.from && new.to <= old.to {
            // Which lane is of no importance unless all are of one warp; then this says that there are several.
            let mask = if old.to - old.from > 4 { u32::MAX } else { old.mask(new.from) };
            let read = Record { time: old_time, block, mask, id: old_id };
            let free_read = if reads[0].is_none() { 0 } else { 1 };
            reads[free_read] = Some(read);
        }
    }
    if let (Some(a), Some(b)) = (reads[0], reads[1]) {
        let new = Record { time, block: here, mask: new.mask(new.from), id };
        if new.is_surely_represented_by(&a, &b) {
            return true;
        }
    }
    let Some(slot) = free else { return false };
    for slot in crate::rows::lanes(outweighed) {
        line[TIME + slot] = 0;
    }
    line[TIME + slot] = time;
    line[BLOCK + slot] = here;
    line[IDENTITY + slot] = id.0;
    line[RANGE + slot] = new.pack();
    true
}

/// The cells of a line; if it has none, or words where bytes are needed, it gets them.
pub(crate) fn expand(line: &mut Line, bytes: bool, now: Time, launch_floor: Time, pools: &mut Pools) -> InCells {
    let old = cells(line, launch_floor);
    if let Some(cells) = old
        && (cells.bytes || !bytes)
    {
        return cells;
    }
    let live: Vec<(Record, Range)> = (0..SLOTS)
        .filter(|&slot| old.is_none() && line[TIME + slot] > launch_floor)
        .map(|slot| {
            let range = Range::unpack(line[RANGE + slot]);
            let (time, block) = (line[TIME + slot], line[BLOCK + slot]);
            (Record { time, block, mask: 0, id: Id(line[IDENTITY + slot]) }, range)
        })
        .collect();
    let whole_words = |range: &Range| {
        let step = match range.lanes {
            Lanes::Bytes(step) => 1 << step,
            Lanes::All(_) => range.to - range.from,
        };
        (range.from | range.to | step).is_multiple_of(4)
    };
    let bytes = bytes || !live.iter().all(|(_, range)| whole_words(range));
    let shift = if bytes { 0 } else { 2 };
    let first = pools.of(bytes).len();
    let count = LINE as usize >> shift;
    pools.of(bytes).resize(first + count);
    let mut set = Vec::new();
    for cell in 0..count {
        match old {
            Some(old) => pools.words.records(old.first + cell / 4, launch_floor, &mut set),
            None => {
                set.clear();
                let byte = (cell as u32) << shift;
                for (record, range) in live.iter().filter(|(_, range)| (range.from..range.to).contains(&byte)) {
                    insert(&mut set, Record { mask: range.mask(byte), ..*record }, |_| false);
                }
            }
        }
        if !set.is_empty() {
            pools.of(bytes).put(first + cell, &set);
        }
    }
    *line = [0; 4 * SLOTS];
    line[TIME] = now;
    line[BLOCK] = first as u32;
    line[RANGE] = if bytes { IN_BYTES } else { IN_WORDS };
    InCells { first, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_round_trip() {
        for lanes in [Lanes::Bytes(0), Lanes::Bytes(5), Lanes::All(1), Lanes::All(32)] {
            for (from, to, first) in [(0, 128, 0), (127, 128, 31), (4, 100, 7)] {
                let range = Range { from, to, first, lanes };
                assert_eq!(Range::unpack(range.pack()), range);
                assert_eq!(range.pack() & (IN_WORDS | IN_BYTES), 0);
            }
        }
    }

    #[test]
    fn ranges_know_their_lanes() {
        let halves = Range { from: 64, to: 128, first: 0, lanes: Lanes::Bytes(1) };
        assert_eq!((halves.mask(64), halves.mask(65), halves.mask(66), halves.mask(127)), (1, 1, 2, 1 << 31));
        let all = Range { from: 4, to: 8, first: 3, lanes: Lanes::All(2) };
        assert_eq!(all.mask(6), 0b11000);
        let next = Range { from: 66, to: 68, first: 1, lanes: Lanes::Bytes(1) };
        assert!(halves.is_aligned_with(next));
        assert!(!halves.is_aligned_with(Range { first: 2, ..next }));
        assert!(!halves.is_aligned_with(Range { lanes: Lanes::Bytes(2), ..next }));
    }
}
