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

/// The lane, as a bit, of each cell of 32 lanes with a power of two of cells each.
static LANE_OF_CELL: [[u32; 16 * LANES]; 5] = {
    let mut bits = [[0; 16 * LANES]; 5];
    let mut step = 0;
    while step < bits.len() {
        let mut cell = 0;
        while cell < LANES << step {
            bits[step][cell] = BIT[cell >> step];
            cell += 1;
        }
        step += 1;
    }
    bits
};

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

    /// Whether an access may be left out: nothing on record conflicts with it, but what barriers order, and it is there
    /// just so itself, or is a read that there is no room for.
    pub(crate) fn has(&self, cell: usize, new: Record, ordered: &Ordered) -> bool {
        // Lanes that are on record together may conflict all the same, where what they had read ordered them then.
        let is_new = |old: &Record| {
            let is_same = old.time == new.time && old.id == new.id && old.block == new.block;
            is_same && new.mask & !old.mask == 0 && (new.mask == old.mask || !old.conflicts(&new))
        };
        let passes =
            |old: &Record| !old.conflicts(&new) || ordered.is_before(old.time, old.block, old.mask, old.id.0, new.mask);
        let write = self.write.get(cell);
        if write.time == LISTED {
            let list = &self.lists[write.block as usize];
            return list.iter().any(is_new) && list.iter().all(|old| is_new(old) || passes(old));
        }
        let reads @ [a, b] = [self.reads[0].get(cell), self.reads[1].get(cell)];
        if new.id.writes() {
            return is_new(&write) && reads.iter().all(passes);
        }
        // Other warps' reads at this time are not ordered before the new one, which would not take their place.
        let stays = |old: &Record| old.time == new.time && !old.shares_warp(&new);
        let has_no_room = || stays(&a) && stays(&b) && new.is_represented_by(&a, &b);
        passes(&write) && (is_new(&a) || is_new(&b) || has_no_room())
    }

    /// Whether a strong write is on record for a cell.
    pub(crate) fn is_synchronising(&mut self, cell: usize, floor: Time) -> bool {
        let mut set = std::mem::take(&mut self.scratch);
        self.records(cell, floor, &mut set);
        let strong = set.iter().any(|record| record.id.writes() && !record.id.is_weak());
        self.scratch = set;
        strong
    }

    /// Checks and records the weak access of one lane to a cell, if nothing is the matter and no more than the columns
    /// is needed. Otherwise gives false, and records nothing.
    #[inline(always)]
    pub(crate) fn single(&mut self, cell: usize, new: Record, ordered: &Ordered) -> bool {
        let Cells { write, reads: [one, two], .. } = self;
        // After a barrier all is old.
        if write.time[cell] <= ordered.floor && one.time[cell] <= ordered.floor && !new.id.writes() {
            one.set(cell, new);
            return true;
        }
        let in_order = |column: &Column| {
            let old = column.get(cell);
            old.time <= ordered.floor || ordered.is_before(old.time, old.block, old.mask, old.id.0, new.mask)
        };
        if !in_order(write) {
            return false;
        }
        let in_order_one = in_order(one);
        if new.id.writes() {
            if !in_order_one || !in_order(two) {
                return false;
            }
            write.set(cell, new);
            one.time[cell] = 0;
            two.time[cell] = 0;
            return true;
        }
        if in_order_one {
            one.set(cell, new);
            return true;
        }
        let (a, b) = (one.get(cell), two.get(cell));
        for (column, old) in [(one, a), (&mut *two, b)] {
            if old.time == new.time && old.id == new.id && old.block == new.block {
                column.mask[cell] |= new.mask;
                return true;
            }
        }
        if in_order(two) {
            two.set(cell, new);
            return true;
        }
        new.is_surely_represented_by(&a, &b)
    }

    /// [`Cells::single`] of consecutive lanes, from `first` on, to `cells` consecutive cells, 2 to the power of `step`
    /// for each lane. `time`, `block` and `id` are those of the record.
    #[inline(always)]
    pub(crate) fn run(
        &mut self,
        (from, cells, first, step): (usize, usize, usize, u32),
        (time, block, id): (Time, u32, Id),
        ordered: &Ordered,
    ) -> bool {
        let range = from..from + cells;
        let Some(bits) = LANE_OF_CELL.get(step as usize).map(|bits| &bits[first << step..][..cells]) else {
            return false;
        };
        let Cells { write, reads: [one, two], .. } = self;
        let in_order = |column: &Column| {
            let (times, blocks) = (&column.time[range.clone()], &column.block[range.clone()]);
            let (masks, ids) = (&column.mask[range.clone()], &column.id[range.clone()]);
            let mut all = true;
            for ((((&time, &block), &mask), &id), &bit) in times.iter().zip(blocks).zip(masks).zip(ids).zip(bits) {
                all &= ordered.is_before(time, block, mask, id, bit);
            }
            all
        };
        if !in_order(write) {
            return false;
        }
        let fill = |column: &mut Column| {
            column.time[range.clone()].fill(time);
            column.block[range.clone()].fill(block);
            column.id[range.clone()].fill(id.0);
            column.mask[range.clone()].copy_from_slice(bits);
        };
        let in_order_one = in_order(one);
        if id.writes() {
            if !in_order_one || !in_order(two) {
                return false;
            }
            fill(write);
            one.time[range.clone()].fill(0);
            two.time[range].fill(0);
            return true;
        }
        if in_order_one {
            fill(one);
            return true;
        }
        if in_order(two) {
            fill(two);
            return true;
        }
        range.clone().all(|cell| {
            let (a, b) = (one.get(cell), two.get(cell));
            let new = Record { time, block, mask: bits[cell - range.start], id };
            a.time > ordered.floor && b.time > ordered.floor && new.is_surely_represented_by(&a, &b)
        })
    }
}

/// What is ordered before an access by barriers.
pub(crate) struct Ordered {
    /// Everything up to here,
    floor: Time,
    block: u32,
    /// what the block did up to here,
    block_floor: Time,
    warp: u32,
    /// and what the warp did up to here.
    warp_floor: Time,
}

impl Ordered {
    pub(crate) fn new(by: &Accessor<'_>, floor: Time) -> Ordered {
        Ordered {
            floor,
            block: by.threads.block,
            block_floor: by.threads.floor.max(floor),
            warp: by.warp,
            warp_floor: by.threads.warp_floor(by.warp).max(floor),
        }
    }

    /// Whether an access is ordered before one of the lane `bit`, by barriers or because the lane made it itself.
    #[inline(always)]
    fn is_before(&self, time: Time, block: u32, mask: u32, id: u32, bit: u32) -> bool {
        let here = block == self.block;
        let same_warp = id & WARP == self.warp;
        (time <= self.floor)
            | here & (time <= self.block_floor)
            | here & same_warp & ((mask == bit) | (time <= self.warp_floor))
    }
}
