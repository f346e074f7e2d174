//! What instructions call: checks of their accesses, and their part in synchronisation.

use super::cells::{Accessor, Cells, Ordered};
use super::clock::{Clock, Time, join_into};
use super::lines::{self, LINE, Lanes, Range};
use super::record::{Id, Kind, Record, Set};
use super::report::{Scope, Strength};
use super::sync::words;
use super::threads::covers;
use super::{Cell, Order, accessor};
use crate::code::Ins;
use crate::exec::Machine;
use crate::exec::memory::{Addresses, Addressing, CONDITION, Hosts};
use crate::fault::{MemorySpace, Operation};
use crate::memory::Region;
use crate::rows::{BIT, lanes};

/// The accesses of a warp to consecutive bytes: consecutive lanes, or all the same.
#[derive(Clone, Copy)]
pub(crate) struct RunOf {
    pub(crate) address: u64,
    /// Bytes of a lane.
    pub(crate) width: u64,
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) operation: Operation,
}

/// An access of one lane, or the same one of several.
pub(super) struct LaneAccess {
    pub(super) address: u64,
    pub(super) width: u64,
    /// The lane, or the first of them.
    pub(super) lane: usize,
    pub(super) mask: u32,
    pub(super) kind: Kind,
    order: Option<Order>,
    pub(super) pc: u32,
    pub(super) space: MemorySpace,
}

/// The range of a line that an access of one lane, or of consecutive ones, covers.
fn single(access: &LaneAccess, from: u64, to: u64) -> Option<Range> {
    let lanes = access.mask >> access.lane;
    (lanes & lanes.wrapping_add(1) == 0).then(|| Range {
        from: from as u32,
        to: to as u32,
        first: access.lane as u32,
        lanes: Lanes::All(lanes.count_ones()),
    })
}

/// The kind of a load or a store.
fn kind(operation: Operation, strength: Strength) -> Kind {
    Kind { reads: operation != Operation::Store, writes: operation != Operation::Load, strength }
}

/// [`Cells::run`] for processors with AVX2.
///
/// # Safety
/// The processor must be one.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run_wide(
    cells: &mut Cells,
    shape: (usize, usize, usize, u32),
    record: (Time, u32, Id),
    ordered: &Ordered,
) -> bool {
    cells.run(shape, record, ordered)
}

fn run(
    wide: bool,
    cells: &mut Cells,
    shape: (usize, usize, usize, u32),
    record: (Time, u32, Id),
    ordered: &Ordered,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if wide {
        // SAFETY: `wide` says that the processor has what it takes.
        return unsafe { run_wide(cells, shape, record, ordered) };
    }
    let _ = wide;
    cells.run(shape, record, ordered)
}

impl Machine<'_> {
    /// Checks and records a weak access of the active lanes to a run of global memory, or false if that takes a closer
    /// look: [`Machine::races_of`].
    pub(crate) fn global_run_is_ordered(&mut self, ins: &Ins, region: &Region, run_of: RunOf, same: bool) -> bool {
        let RunOf { address, width, first, count, operation } = run_of;
        if region.read_only && self.checks.bounds {
            return true;
        }
        let how = Addressing::unpack(ins.extra);
        if how.strength != Strength::Weak || how.conditional || !width.is_power_of_two() {
            return false;
        }
        if same {
            let active = self.mask >> first;
            if active & active.wrapping_add(1) != 0 {
                return false;
            }
        } else if !address.is_multiple_of(width) {
            return false;
        }
        let id = Id::new(self.warp, kind(operation, Strength::Weak), self.pc_of(ins));
        let shadow = self.memory.shadow(region);
        let by = accessor(&self.here.threads, &self.races, self.warp);
        let (races, offset) = (&mut self.races, address - region.start);
        let (now, block, floor) = (races.now, by.threads.block, by.launch_floor);
        // What strong writes have released ends with a weak one; only lines with cells have seen any.
        let in_cells = !same && (operation == Operation::Load || races.objects.is_empty());
        let step = width.trailing_zeros();
        let (mut from, end) = (offset, offset + if same { width } else { width * count as u64 });
        while from < end {
            let start = from / LINE * LINE;
            let to = end.min(start + LINE);
            let first = if same { first } else { first + ((from - offset) >> step) as usize };
            let lanes = if same { Lanes::All(self.mask.count_ones()) } else { Lanes::Bytes(step) };
            let range = Range { from: (from - start) as u32, to: (to - start) as u32, first: first as u32, lanes };
            let line = &mut shadow[(start / LINE) as usize];
            if !lines::touch(line, range, now, id, &by) {
                let Some(at) = lines::cells(line, floor).filter(|at| in_cells && step >= at.shift()) else {
                    return false;
                };
                let shape = (
                    at.first + (range.from as usize >> at.shift()),
                    (range.to - range.from) as usize >> at.shift(),
                    first,
                    step - at.shift(),
                );
                if !run(races.wide, races.pools.of(at.bytes), shape, (now, block, id), &Ordered::new(&by, floor)) {
                    return false;
                }
            }
            from = to;
        }
        true
    }

    /// As [`Machine::global_run_is_ordered`], in shared memory.
    pub(crate) fn shared_run_is_ordered(&mut self, ins: &Ins, run_of: RunOf, same: bool) -> bool {
        let RunOf { address, width, first, count, operation } = run_of;
        let shift = if self.here.in_bytes { 0 } else { 2 };
        let unit = 1u64 << shift;
        let how = Addressing::unpack(ins.extra);
        if how.strength != Strength::Weak
            || how.conditional
            || same
            || operation == Operation::Store && !self.here.objects.is_empty()
            || !width.is_power_of_two()
            || !address.is_multiple_of(unit)
            || width < unit
        {
            return false;
        }
        let id = Id::new(self.warp, kind(operation, Strength::Weak), self.pc_of(ins));
        let here = &mut self.here;
        let by = accessor(&here.threads, &self.races, self.warp);
        let cells = (width >> shift) as usize * count;
        let shape = ((address >> shift) as usize, cells, first, width.trailing_zeros() - shift);
        let floor = here.threads.floor;
        let ordered = Ordered::new(&by, floor);
        run(self.races.wide, &mut here.cells, shape, (self.races.now, here.threads.block, id), &ordered)
    }

    /// Checks and records the accesses of the lanes of `mask` that have a place on the host. `stored` gives a byte of
    /// what a lane stores. Tells whether there is a race, which is a fault then.
    pub(crate) fn races_of(
        &mut self,
        ins: &Ins,
        (addresses, hosts, mask): (&Addresses, &Hosts, u32),
        width: u64,
        (space, operation): (MemorySpace, Operation),
        stored: impl Fn(&Self, usize, u64) -> u8,
    ) -> bool {
        let Addressing { strength, acquires, releases, conditional, .. } = Addressing::unpack(ins.extra);
        // SAFETY: the machine points at the path that executes `ins`, and a conditional load has a predicate there.
        let mask = if conditional { mask & unsafe { self.predicate(ins.rows[CONDITION]) } } else { mask };
        let kind = kind(operation, strength);
        let order = match strength {
            Strength::Weak => None,
            Strength::Volatile => Some(Order { acquires, releases, scope: Scope::Device }),
            Strength::Strong(scope) => Some(Order { acquires, releases, scope }),
        };
        let pc = self.pc_of(ins);
        let mut present = 0;
        for (host, bit) in hosts.iter().zip(BIT) {
            present |= if host.is_null() { 0 } else { bit };
        }
        present &= mask;
        let Some(first) = lanes(present).next() else { return false };
        let access =
            |lane: usize, mask| LaneAccess { address: addresses[lane], width, lane, mask, kind, order, pc, space };
        if space == MemorySpace::Shared
            && order.is_none()
            && self.scattered_is_ordered((addresses, present), width, kind, pc)
        {
            return false;
        }
        if !kind.writes && lanes(present).all(|lane| addresses[lane] == addresses[first]) {
            let access = access(first, present);
            if order.is_some() && self.is_repeated(&access) {
                return false;
            }
            if order.is_none() || self.objects(space).is_empty() {
                return self.race_of(&access, |_, _| false);
            }
        }
        lanes(present).any(|lane| {
            // A store of what is there already, or what a lane before it puts there.
            let changes_nothing = |m: &Self, byte: u64| {
                let at = |lane: usize| byte.wrapping_sub(addresses[lane]);
                let before = lanes(present & !(u32::MAX << lane)).filter(|&other| at(other) < width).last();
                let there = match before {
                    Some(other) => stored(m, other, at(other)),
                    // SAFETY: the whole access is within reach of the pointer.
                    None => unsafe { hosts[lane].add(at(lane) as usize).read() },
                };
                stored(m, lane, at(lane)) == there
            };
            self.race_of(&access(lane, 1 << lane), changes_nothing)
        })
    }

    /// Checks and records weak accesses of single lanes to shared memory, or false if that takes a closer look.
    fn scattered_is_ordered(&mut self, (addresses, mask): (&Addresses, u32), width: u64, kind: Kind, pc: u32) -> bool {
        let shift = if self.here.in_bytes { 0 } else { 2 };
        if !width.is_multiple_of(1 << shift) || kind.writes && !self.here.objects.is_empty() {
            return false;
        }
        let here = &mut self.here;
        let by = accessor(&here.threads, &self.races, self.warp);
        let (time, block, id) = (self.races.now, here.threads.block, Id::new(self.warp, kind, pc));
        let ordered = Ordered::new(&by, here.threads.floor);
        let cells = &mut here.cells;
        lanes(mask).all(|lane| {
            let (address, new) = (addresses[lane], Record { time, block, mask: 1 << lane, id });
            address % (1 << shift) == 0
                && (address >> shift..(address + width) >> shift).all(|cell| cells.single(cell as usize, new, &ordered))
        })
    }

    /// Checks and records what a lane has done with an atomic instruction; `writes` unless it was a comparison that
    /// failed. Tells whether there is a race, which is a fault then.
    pub(crate) fn race_of_atomic(
        &mut self,
        ins: &Ins,
        (address, lane): (u64, usize),
        width: u64,
        space: MemorySpace,
        writes: bool,
    ) -> bool {
        self.race_of(&self.atomic(ins, (address, lane, 1 << lane), (width, space), writes), |_, _| false)
    }

    /// Whether the lanes of `mask` have all made this comparison before, it has failed, and nothing has changed since:
    /// those that fail again need no [`Machine::race_of_atomic`], as long as none before them writes.
    pub(crate) fn compares_again(
        &mut self,
        ins: &Ins,
        (addresses, mask): (&Addresses, u32),
        width: u64,
        space: MemorySpace,
    ) -> bool {
        let Some(first) = lanes(mask).next() else { return false };
        lanes(mask).all(|lane| addresses[lane] == addresses[first])
            && self.is_repeated(&self.atomic(ins, (addresses[first], first, mask), (width, space), false))
    }

    fn atomic(
        &self,
        ins: &Ins,
        (address, lane, mask): (u64, usize, u32),
        (width, space): (u64, MemorySpace),
        writes: bool,
    ) -> LaneAccess {
        let Addressing { strength, acquires, releases, .. } = Addressing::unpack(ins.extra);
        let scope = if strength == Strength::Strong(Scope::Block) { Scope::Block } else { Scope::Device };
        let kind = Kind { reads: true, writes, strength };
        let order = Some(Order { acquires, releases, scope });
        LaneAccess { address, width, lane, mask, kind, order, pc: self.pc_of(ins), space }
    }

    /// Checks and records what a lane has done to an object of 8 bytes in shared memory through which the threads of a
    /// block synchronise: with an order it arrives or has waited, without it makes the object or ends it. Tells whether
    /// there is a race, which is a fault then.
    pub(crate) fn race_of_object(&mut self, ins: &Ins, (address, lane): (u64, usize), order: Option<Order>) -> bool {
        let strength = if order.is_some() { Strength::Strong(Scope::Block) } else { Strength::Weak };
        let writes = order.is_none_or(|order| order.releases);
        let access = LaneAccess {
            address,
            width: 8,
            lane,
            mask: 1 << lane,
            kind: Kind { reads: order.is_some(), writes, strength },
            order,
            pc: self.pc_of(ins),
            space: MemorySpace::Shared,
        };
        self.race_of(&access, |_, _| false)
    }

    /// Checks and records an access.
    fn race_of(&mut self, access: &LaneAccess, changes_nothing: impl Fn(&Self, u64) -> bool) -> bool {
        let region = match access.space {
            MemorySpace::Global => match self.memory.region(access.address) {
                Some(region) if region.read_only && self.checks.bounds => return false,
                Some(region) => Some(region),
                None => return false,
            },
            _ => None,
        };
        let found = self.found(access);
        let (now, block) = (self.races.now, self.here.threads.block);
        let released = self.observe_and_publish(access, &found);
        let mut id = Id::new(self.warp, access.kind, access.pc);
        if released.iter().any(Option::is_some) {
            id = id.releasing();
        }
        let new = Record { time: now, block, mask: access.mask, id };
        let (start, end) = match region {
            Some(region) => (access.address - region.start, access.address - region.start + access.width),
            None => (access.address, access.address + access.width),
        };
        let mut synchronising = false;
        let mut from = start;
        while from < end {
            let line = from / LINE;
            let to = end.min((line + 1) * LINE);
            let words = (from | to) % 4 == 0;
            let (shift, first) = match &region {
                Some(region) => {
                    let shadow = self.memory.shadow(region);
                    let by = accessor(&self.here.threads, &self.races, self.warp);
                    let shadow = &mut shadow[line as usize];
                    if access.order.is_none()
                        && let Some(range) = single(access, from % LINE, to - line * LINE)
                        && lines::touch(shadow, range, now, id, &by)
                    {
                        from = to;
                        continue;
                    }
                    let floor = self.races.launch_floor;
                    let at = lines::expand(shadow, !words, now, floor, &mut self.races.pools);
                    (at.shift(), at.first + ((from % LINE) as usize >> at.shift()))
                }
                None => {
                    if !words && !self.here.in_bytes {
                        self.here.split();
                    }
                    let shift = if self.here.in_bytes { 0 } else { 2 };
                    (shift, from as usize >> shift)
                }
            };
            for index in 0..(to - from) as usize >> shift {
                let offset = from - start + ((index as u64) << shift);
                let at = Cell { global: region.is_some(), in_bytes: shift == 0, index: first + index };
                let address = access.address + offset;
                if access.order.is_none() && access.kind.writes {
                    synchronising |= !self.objects(access.space).is_empty() && self.is_synchronising(at);
                } else if self.has(at, new) {
                    continue;
                }
                if access.order.is_none()
                    && !synchronising
                    && new.mask.is_power_of_two()
                    && self.with_cells(at, |cells, by, floor| cells.single(at.index, new, &Ordered::new(by, floor)))
                {
                    continue;
                }
                let mut conflicts = self.conflicts(at, new);
                conflicts.retain(|old| !self.is_synchronised(access, old, &found));
                // A store of what is there already leaves the place to the store that put it there.
                let is_store = |id: Id| id.writes() && !id.reads();
                let (stores, others): (Vec<_>, Vec<_>) =
                    conflicts.into_iter().partition(|old| is_store(old.id) && is_store(id));
                let bytes = address..address + (1 << shift);
                let race = others
                    .first()
                    .or_else(|| stores.first().filter(|_| !bytes.into_iter().all(|byte| changes_nothing(self, byte))));
                if let Some(old) = race {
                    self.fail_with_race(access, address, old);
                    return true;
                }
                if stores.is_empty() {
                    self.record(at, new);
                }
            }
            from = to;
        }
        self.release(access, released, synchronising);
        if access.order.is_some() && !access.kind.writes {
            self.remember(access);
        }
        false
    }

    /// What strong writes have released at the place of a strong read.
    fn found(&self, access: &LaneAccess) -> [Option<Clock>; 2] {
        let mut found = [None, None];
        let Some(order) = access.order.filter(|_| access.kind.reads) else { return found };
        let objects = self.objects(access.space);
        if !objects.is_empty() {
            for word in words(access.address, access.width) {
                let here = objects.find(word, self.here.threads.block, order.scope);
                for (sum, clock) in found.iter_mut().zip(&here) {
                    join_into(sum, clock.as_ref());
                }
            }
        }
        found
    }

    pub(super) fn objects(&self, space: MemorySpace) -> &super::Objects {
        if space == MemorySpace::Global { &self.races.objects } else { &self.here.objects }
    }

    /// What a strong access makes its thread know, and what it makes known to others, by scope.
    fn observe_and_publish(&mut self, access: &LaneAccess, found: &[Option<Clock>; 2]) -> [Option<Clock>; 2] {
        let Some(order) = access.order else { return [None, None] };
        self.here.strong |= 1 << self.warp;
        let threads = &mut self.here.threads;
        threads.observe(self.warp, access.lane, order, found);
        if !access.kind.writes {
            return [None, None];
        }
        threads.publish(&mut self.races, self.warp, access.lane, order)
    }

    /// Puts what a strong write makes known to its place. A weak one ends what others had put there, if it was
    /// `synchronising`.
    fn release(&mut self, access: &LaneAccess, released: [Option<Clock>; 2], synchronising: bool) {
        if !access.kind.writes {
            return;
        }
        let global = access.space == MemorySpace::Global;
        let objects = if global { &mut self.races.objects } else { &mut self.here.objects };
        if access.order.is_none() {
            if synchronising {
                words(access.address, access.width).for_each(|word| objects.forget(word));
            }
            return;
        }
        let block = self.here.threads.block;
        if !objects.is_empty() || released[0].is_some() {
            for word in words(access.address, access.width) {
                objects.release(word, block, access.kind.reads, released.clone());
            }
        }
    }

    /// Whether a conflicting access is ordered before this one by the place that both access: by what this one reads
    /// there, or because `old` has released something there and the lane has acquired all that is there.
    fn is_synchronised(&self, access: &LaneAccess, old: &Record, found: &[Option<Clock>; 2]) -> bool {
        let old = &Record { mask: self.others(access, old), ..*old };
        if found.iter().any(|clock| covers(clock.as_ref(), old, old.mask)) {
            return true;
        }
        // That volatile accesses of one warp need an order is a rule of this checker; what could order them does.
        let both_volatile = old.id.strength() == Strength::Volatile && access.kind.strength == Strength::Volatile;
        if both_volatile && self.here.threads.has_yet_to_acquire(self.warp, access.lane, old) {
            return true;
        }
        if !old.id.releases() {
            return false;
        }
        let objects = self.objects(access.space);
        let found = words(access.address, access.width)
            .map(|word| objects.find(word, self.here.threads.block, Scope::Device))
            .find(|found| found.iter().any(Option::is_some));
        found.is_some_and(|found| {
            lanes(access.mask).all(|lane| {
                let thread = (self.warp, lane);
                let acquired = |clock: &Clock| self.here.threads.includes(&self.races, thread, clock, both_volatile);
                if old.block == self.here.threads.block {
                    found[Scope::Block as usize].as_ref().is_some_and(acquired)
                } else {
                    found[Scope::Device as usize].as_ref().is_some_and(acquired)
                }
            })
        })
    }

    /// Runs `work` on the cells that `at` is one of, with the time up to which they are to be looked at as empty.
    fn with_cells<T>(&mut self, at: Cell, work: impl FnOnce(&mut Cells, &Accessor<'_>, Time) -> T) -> T {
        let launch_floor = self.races.launch_floor;
        let by = Accessor { threads: &self.here.threads, warp: self.warp, launch_floor };
        if at.global {
            work(self.races.pools.of(at.in_bytes), &by, launch_floor)
        } else {
            work(&mut self.here.cells, &by, self.here.threads.floor)
        }
    }

    fn conflicts(&mut self, at: Cell, new: Record) -> Set {
        self.with_cells(at, |cells, by, floor| cells.conflicts(at.index, new, by, floor))
    }

    pub(super) fn has(&mut self, at: Cell, new: Record) -> bool {
        self.with_cells(at, |cells, by, floor| cells.has(at.index, new, &Ordered::new(by, floor)))
    }

    fn record(&mut self, at: Cell, new: Record) {
        self.with_cells(at, |cells, by, floor| cells.record(at.index, new, by, floor));
    }

    fn is_synchronising(&mut self, at: Cell) -> bool {
        self.with_cells(at, |cells, _, floor| cells.is_synchronising(at.index, floor))
    }
}
