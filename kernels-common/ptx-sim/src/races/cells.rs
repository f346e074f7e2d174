//! Shadow memory cell by cell: for each word, or each byte, the accesses that others may still race with.
//!
//! A cell has room for a write and two reads, in columns, so that the usual access of a warp, to as many cells as it
//! has lanes, is checked and recorded by vector instructions. The few cells that need more have a list of their own.

use super::clock::Time;
use super::record::{Id, Record, Set, WARP, insert};
use super::threads::Threads;
use crate::rows::{BIT, LANES, lanes};

/// One field of each cell: a record, in columns.
#[derive(Debug, Default)]
struct Column {
    time: Vec<Time>,
    block: Vec<u32>,
    mask: Vec<u32>,
    id: Vec<u32>,
}

impl Column {
    fn resize(&mut self, cells: usize) {
        for part in [&mut self.time, &mut self.block, &mut self.mask, &mut self.id] {
            part.resize(cells, 0);
        }
    }

    fn get(&self, cell: usize) -> Record {
        Record { time: self.time[cell], block: self.block[cell], mask: self.mask[cell], id: Id(self.id[cell]) }
    }

    fn set(&mut self, cell: usize, record: Record) {
        self.time[cell] = record.time;
        self.block[cell] = record.block;
        self.mask[cell] = record.mask;
        self.id[cell] = record.id.0;
    }
}

/// In place of the time of a write: the cell has a list, whose number is in place of the block.
const LISTED: Time = Time::MAX;

/// Shadow cells.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    write: Column,
    reads: [Column; 2],
    lists: Vec<Set>,
    /// Lists that no cell has.
    unused: Vec<u32>,
    scratch: Set,
}

/// Who accesses, and when nothing needs to be looked at.
pub(crate) struct Accessor<'a> {
    pub(crate) threads: &'a Threads,
    pub(crate) warp: u32,
    /// Everything up to here is ordered before every access of the launch.
    pub(crate) launch_floor: Time,
}

impl Accessor<'_> {
    /// Whether a lane of the accessing warp is ordered after an access.
    pub(crate) fn knows(&self, lane: usize, record: &Record) -> bool {
        record.time <= self.launch_floor || self.threads.knows(self.warp, lane, record)
    }
}

impl Cells {
    /// Makes room for this many cells.
    pub(crate) fn resize(&mut self, cells: usize) {
        self.write.resize(cells);
        self.reads.iter_mut().for_each(|column| column.resize(cells));
    }

    pub(crate) fn len(&self) -> usize {
        self.write.time.len()
    }

    /// Forgets all cells.
    pub(crate) fn clear(&mut self) {
        self.resize(0);
        self.lists.clear();
        self.unused.clear();
    }

    /// Forgets what is in lists. What is in cells is older than whatever comes.
    pub(crate) fn start_over(&mut self) {
        if self.lists.len() > self.unused.len() {
            self.write.time.iter_mut().filter(|time| **time == LISTED).for_each(|time| *time = 0);
        }
        self.lists.clear();
        self.unused.clear();
    }

    /// All records of a cell that are newer than `floor`.
    pub(crate) fn records(&self, cell: usize, floor: Time, set: &mut Set) {
        set.clear();
        let write = self.write.get(cell);
        if write.time == LISTED {
            set.extend(self.lists[write.block as usize].iter().filter(|record| record.time > floor));
            return;
        }
        let inline = [write, self.reads[0].get(cell), self.reads[1].get(cell)];
        set.extend(inline.into_iter().filter(|record| record.time > floor));
    }

    /// Replaces the records of a cell.
    pub(crate) fn put(&mut self, cell: usize, set: &[Record]) {
        let listed = (self.write.time[cell] == LISTED).then(|| self.write.block[cell]);
        let writes = set.iter().filter(|record| record.id.writes()).count();
        if writes > 1 || set.len() - writes > 2 {
            let list = listed.or_else(|| self.unused.pop()).unwrap_or_else(|| {
                self.lists.push(Set::new());
                self.lists.len() as u32 - 1
            });
            self.lists[list as usize].clear();
            self.lists[list as usize].extend_from_slice(set);
            self.write.set(cell, Record { time: LISTED, block: list, ..Record::default() });
            return;
        }
        self.unused.extend(listed);
        let mut reads = set.iter().filter(|record| !record.id.writes());
        let write = set.iter().find(|record| record.id.writes());
        self.write.set(cell, write.copied().unwrap_or_default());
        for column in &mut self.reads {
            column.set(cell, reads.next().copied().unwrap_or_default());
        }
    }

    /// The accesses on record that conflict with a new one and are not ordered before it.
    pub(crate) fn conflicts(&mut self, cell: usize, new: Record, by: &Accessor<'_>, floor: Time) -> Set {
        let mut set = std::mem::take(&mut self.scratch);
        self.records(cell, floor, &mut set);
        let unordered = |old: &Record| lanes(new.mask).any(|lane| !by.knows(lane, old));
        let conflicts = set.iter().filter(|old| old.conflicts(&new) && unordered(old)).copied().collect();
        self.scratch = set;
        conflicts
    }

    /// Records an access to a cell.
    pub(crate) fn record(&mut self, cell: usize, new: Record, by: &Accessor<'_>, floor: Time) {
        let mut set = std::mem::take(&mut self.scratch);
        self.records(cell, floor, &mut set);
        let first = new.mask.trailing_zeros() as usize % LANES;
        insert(&mut set, new, |old| old.shares_warp(&new) && old.mask & !new.mask == 0 || by.knows(first, old));
        self.put(cell, &set);
        self.scratch = set;
    }

    /// Whether just this access is on record: then nothing that it conflicts with has been recorded since.
    pub(crate) fn has(&self, cell: usize, new: Record) -> bool {
        let is_new = |old: &Record| {
            old.time == new.time && old.id == new.id && old.block == new.block && new.mask & !old.mask == 0
        };
        let write = self.write.get(cell);
        if write.time == LISTED {
            return self.lists[write.block as usize].iter().any(is_new);
        }
        let column = if new.id.writes() { &self.write } else { &self.reads[0] };
        is_new(&column.get(cell))
    }

    /// Whether a strong write is on record for a cell.
    pub(crate) fn is_synchronising(&mut self, cell: usize, floor: Time) -> bool {
        let mut set = std::mem::take(&mut self.scratch);
        self.records(cell, floor, &mut set);
        let strong = set.iter().any(|record| record.id.writes() && !record.id.is_weak());
        self.scratch = set;
        strong
    }

    /// Checks and records the weak access of consecutive lanes, from `first` on, to `cells` consecutive cells, 2 to the
    /// power of `step` for each lane, if nothing is the matter and no more than the columns is needed. `time`, `block`
    /// and `id` are those of the record. Otherwise gives false, and records nothing.
    #[inline(always)]
    pub(crate) fn run(
        &mut self,
        (from, cells, first, step): (usize, usize, usize, u32),
        (time, block, id): (Time, u32, Id),
        by: &Accessor<'_>,
        floor: Time,
    ) -> bool {
        let range = from..from + cells;
        let (warp, warp_floor, block_floor) =
            (id.warp(), by.threads.warp_floor(by.warp).max(floor), by.threads.floor.max(floor));
        // 2 where an access of the same thread, or one that is ordered by a barrier, is on record; else 0.
        let is_ordered = |old_time: Time, old_block: u32, old_mask: u32, old_id: u32, bit: u32| {
            let here = old_block == block;
            let same_warp = old_id & WARP == warp;
            (old_time <= floor)
                | here & (old_time <= block_floor)
                | here & same_warp & ((old_mask == bit) | (old_time <= warp_floor))
        };
        let mut bits = [0u32; LANES];
        for (lane, bit) in bits.iter_mut().enumerate() {
            *bit = if lane < cells { BIT[(first + (lane >> step)) % LANES] } else { 0 };
        }
        let wide = cells > LANES;
        let bit = |index: usize| if wide { BIT[(first + (index >> step)) % LANES] } else { bits[index % LANES] };
        let Cells { write, reads: [one, two], .. } = self;
        let ordered = |column: &Column| {
            let (times, blocks) = (&column.time[range.clone()], &column.block[range.clone()]);
            let (masks, ids) = (&column.mask[range.clone()], &column.id[range.clone()]);
            let mut all = true;
            for index in 0..cells {
                all &= is_ordered(times[index], blocks[index], masks[index], ids[index], bit(index));
            }
            all
        };
        if !ordered(write) {
            return false;
        }
        let fill = |column: &mut Column| {
            column.time[range.clone()].fill(time);
            column.block[range.clone()].fill(block);
            column.id[range.clone()].fill(id.0);
            for (index, mask) in column.mask[range.clone()].iter_mut().enumerate() {
                *mask = bit(index);
            }
        };
        let ordered_one = ordered(one);
        if id.writes() {
            if !ordered_one || !ordered(two) {
                return false;
            }
            fill(write);
            one.time[range.clone()].fill(0);
            two.time[range].fill(0);
            return true;
        }
        if ordered_one {
            fill(one);
            return true;
        }
        if ordered(two) {
            fill(two);
            return true;
        }
        // Two reads that stand for this one: see `Record::is_represented_by`.
        range.clone().all(|cell| {
            let (a, b) = (one.get(cell), two.get(cell));
            let new = Record { time, block, mask: bit(cell - range.start), id };
            a.time > floor && b.time > floor && new.is_represented_by(&a, &b)
        })
    }
}
