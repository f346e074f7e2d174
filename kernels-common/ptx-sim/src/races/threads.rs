//! What the threads of a block know of each other and of other blocks.
//!
//! Most kernels synchronise by barriers of the whole block and of whole warps. Then two times tell everything: that of
//! the last block barrier, and of the last barrier of the warp. Whatever else there is comes on top, and is not there
//! until it is needed.

use std::rc::Rc;

use super::clock::{Clock, Known, Time, join_into};
use super::record::Record;
use super::report::Scope;
use super::{Order, Races};
use crate::rows::{LANES, lanes};

/// Both scopes, as indices of arrays.
const SCOPES: [usize; 2] = [Scope::Block as usize, Scope::Device as usize];

/// A clock for each lane of a warp; most often all lanes have the same one.
#[derive(Clone, Debug, Default)]
struct PerLane {
    all: Option<Clock>,
    /// In place of `all`, where lanes differ.
    each: Option<Rc<[Option<Clock>; LANES]>>,
}

impl PerLane {
    fn get(&self, lane: usize) -> Option<&Clock> {
        match &self.each {
            None => self.all.as_ref(),
            Some(each) => each[lane].as_ref(),
        }
    }

    fn is_empty(&self) -> bool {
        self.each.is_none() && self.all.is_none()
    }

    fn set_all(&mut self, clock: Option<Clock>) {
        *self = PerLane { all: clock, each: None };
    }

    fn lane_mut(&mut self, lane: usize) -> &mut Option<Clock> {
        let all = self.all.take();
        &mut Rc::make_mut(self.each.get_or_insert_with(|| Rc::new(std::array::from_fn(|_| all.clone()))))[lane]
    }

    fn join_lane(&mut self, lane: usize, clock: Option<&Clock>) {
        let Some(clock) = clock else { return };
        if !self.get(lane).is_some_and(|known| known.includes(clock)) {
            join_into(self.lane_mut(lane), Some(clock));
        }
    }

    /// Gives each lane of `mask` what any of them has.
    fn share(&mut self, mask: u32) {
        if self.each.is_some() {
            let mut sum = None;
            self.gather(mask, &mut sum);
            lanes(mask).for_each(|lane| self.join_lane(lane, sum.as_ref()));
        }
    }

    /// Adds what the lanes of `mask` have to `sum`.
    fn gather(&self, mask: u32, sum: &mut Option<Clock>) {
        match &self.each {
            None => join_into(sum, self.all.as_ref()),
            Some(each) => lanes(mask).for_each(|lane| join_into(sum, each[lane].as_ref())),
        }
    }
}

/// For each lane (first index), up to when it knows each other lane of its warp.
type Matrix = [[Time; LANES]; LANES];

/// What lanes knew when they executed a fence, together.
#[derive(Clone, Debug)]
struct Fenced {
    mask: u32,
    /// When; what a lane did itself counts up to here.
    time: Time,
    floor: Time,
    warp_floor: Time,
    within: Option<Rc<Matrix>>,
    acquired: PerLane,
}

/// What a warp has to do with fences and synchronising accesses.
#[derive(Clone, Debug, Default)]
struct Extra {
    /// What was acquired, from other blocks or from threads of this one.
    acquired: PerLane,
    /// The last fence of each lane, by scope; one of the device is one of the block too.
    fenced: [Vec<Fenced>; 2],
    /// What was fenced by others before a barrier that the lane then passed.
    inherited: [PerLane; 2],
    /// What was read by relaxed accesses and waits for a fence to be acquired.
    pending: [PerLane; 2],
}

/// What the lanes of a warp know.
#[derive(Clone, Debug, Default)]
struct Warp {
    /// Up to when every lane knows every lane.
    floor: Time,
    within: Option<Rc<Matrix>>,
    extra: Option<Box<Extra>>,
}

/// What the threads of a block know.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// The block, as its place in the grid.
    pub(crate) block: u32,
    /// Up to when every thread knows every thread of the block.
    pub(crate) floor: Time,
    warps: Vec<Warp>,
    /// What threads released that arrived at a barrier without waiting, by its number.
    signals: Vec<(usize, Parcel)>,
    /// What all of them released at the last barrier that is passed in two steps.
    passed: Option<Parcel>,
}

/// What passes from thread to thread at a barrier.
#[derive(Clone, Debug, Default)]
struct Parcel {
    known: Option<Clock>,
    fenced: [Option<Clock>; 2],
    pending: [Option<Clock>; 2],
}

impl Threads {
    /// Starts over as the threads of a block, all ordered after everything up to `floor`.
    pub(crate) fn start(&mut self, block: u32, warps: usize, floor: Time) {
        self.block = block;
        self.floor = floor;
        self.warps.resize_with(warps, Warp::default);
        for warp in &mut self.warps {
            warp.within = None;
            warp.extra = None;
            warp.floor = floor;
        }
        self.signals.clear();
        self.passed = None;
    }

    /// Up to when every lane of a warp knows the others.
    pub(crate) fn warp_floor(&self, warp: u32) -> Time {
        self.warps[warp as usize].floor
    }

    /// Whether all lanes of a warp know all threads of another block up to `time`; may say no although they do.
    pub(crate) fn warp_knows_block(&self, warp: u32, block: u32, time: Time) -> bool {
        self.warps[warp as usize].extra.as_ref().is_some_and(|extra| {
            extra.acquired.each.is_none()
                && extra.acquired.all.as_ref().and_then(|clock| clock.get(block)).is_some_and(|k| time <= k.floor)
        })
    }

    /// Whether a lane is ordered after an access of this launch.
    pub(crate) fn knows(&self, warp: u32, lane: usize, record: &Record) -> bool {
        let here = &self.warps[warp as usize];
        let mut others = record.mask;
        if record.block == self.block {
            if record.time <= self.floor {
                return true;
            }
            if record.id.warp() == warp {
                others &= !(1 << lane);
                if record.time <= here.floor || others == 0 {
                    return true;
                }
                if let Some(within) = &here.within {
                    others = lanes(others)
                        .filter(|&other| within[lane][other] < record.time)
                        .fold(0, |sum, other| sum | 1 << other);
                }
            }
        }
        let acquired = here.extra.as_ref().and_then(|extra| extra.acquired.get(lane));
        others == 0 || covers(acquired, record, others)
    }

    /// Whether a lane knows everything that `clock` tells; with `or_read`, what it has read but not acquired counts too.
    pub(crate) fn includes(&self, races: &Races, (warp, lane): (u32, usize), clock: &Clock, or_read: bool) -> bool {
        let mut known = Some(self.release(races, warp, lane));
        if let Some(extra) = self.warps[warp as usize].extra.as_ref().filter(|_| or_read) {
            extra.pending.iter().for_each(|pending| join_into(&mut known, pending.get(lane)));
        }
        known.is_some_and(|known| known.includes(clock))
    }

    /// Whether a lane has read, but not acquired, what orders it after an access.
    pub(crate) fn has_yet_to_acquire(&self, warp: u32, lane: usize, record: &Record) -> bool {
        let extra = self.warps[warp as usize].extra.as_ref();
        extra.is_some_and(|extra| extra.pending.iter().any(|pending| covers(pending.get(lane), record, record.mask)))
    }

    /// Everything that a lane knows, itself included up to now.
    fn release(&self, races: &Races, warp: u32, lane: usize) -> Clock {
        let here = &self.warps[warp as usize];
        let acquired = here.extra.as_ref().and_then(|extra| extra.acquired.get(lane));
        self.clock(races, warp, lane, (races.now, self.floor, here.floor), here.within.as_deref(), acquired)
    }

    fn clock(
        &self,
        races: &Races,
        warp: u32,
        lane: usize,
        (own, floor, warp_floor): (Time, Time, Time),
        within: Option<&Matrix>,
        acquired: Option<&Clock>,
    ) -> Clock {
        let mut known = Known::floor(floor);
        known.add_warp(warp, warp_floor);
        if let Some(within) = within {
            for (other, &time) in within[lane].iter().enumerate() {
                known.add_lane(warp, other, time);
            }
        }
        known.add_lane(warp, lane, own);
        let mut clock = Clock::of(races.levels, self.block, known);
        if let Some(acquired) = acquired {
            clock.join(acquired);
        }
        clock
    }

    /// What a lane's last fence of a scope makes its next strong write release.
    fn fenced(&self, races: &Races, warp: u32, lane: usize, scope: usize) -> Option<Clock> {
        let extra = self.warps[warp as usize].extra.as_ref()?;
        let mut clock = extra.inherited[scope].get(lane).cloned();
        if let Some(fenced) = extra.fenced[scope].iter().find(|fenced| fenced.mask >> lane & 1 != 0) {
            let Fenced { time, floor, warp_floor, ref within, ref acquired, .. } = *fenced;
            let times = (time, floor, warp_floor);
            let own = self.clock(races, warp, lane, times, within.as_deref(), acquired.get(lane));
            join_into(&mut clock, Some(&own));
        }
        clock
    }

    /// The lanes of `mask` execute a fence.
    pub(crate) fn fence(&mut self, races: &mut Races, warp: u32, mask: u32, scope: Scope) {
        let floor = self.floor;
        let here = &mut self.warps[warp as usize];
        let extra = here.extra.get_or_insert_default();
        for scope in SCOPES.into_iter().filter(|&each| each <= scope as usize) {
            if !extra.pending[scope].is_empty() {
                for lane in lanes(mask) {
                    let pending = extra.pending[scope].get(lane).cloned();
                    extra.acquired.join_lane(lane, pending.as_ref());
                }
            }
        }
        let fenced = Fenced {
            mask,
            time: races.now,
            floor,
            warp_floor: here.floor,
            within: here.within.clone(),
            acquired: extra.acquired.clone(),
        };
        for scope in SCOPES.into_iter().filter(|&each| each <= scope as usize) {
            extra.fenced[scope].retain_mut(|old| {
                old.mask &= !mask;
                old.mask != 0
            });
            extra.fenced[scope].push(fenced.clone());
        }
        races.advance();
    }

    /// What a lane gets to know by a strong read of a place: at once if the access acquires, else at its next fence.
    pub(crate) fn observe(&mut self, warp: u32, lane: usize, order: Order, found: &[Option<Clock>; 2]) {
        if found.iter().all(Option::is_none) {
            return;
        }
        let extra = self.warps[warp as usize].extra.get_or_insert_default();
        for (scope, clock) in found.iter().enumerate() {
            let to = if order.acquires { &mut extra.acquired } else { &mut extra.pending[scope] };
            to.join_lane(lane, clock.as_ref());
        }
    }

    /// What a lane publishes by a strong write, by scope.
    pub(crate) fn publish(&self, races: &mut Races, warp: u32, lane: usize, order: Order) -> [Option<Clock>; 2] {
        if order.releases {
            let clock = self.release(races, warp, lane);
            races.advance();
            let device = (order.scope == Scope::Device).then(|| clock.clone());
            return [Some(clock), device];
        }
        if self.warps[warp as usize].extra.is_none() {
            return [None, None];
        }
        let device =
            if order.scope == Scope::Device { self.fenced(races, warp, lane, Scope::Device as usize) } else { None };
        [self.fenced(races, warp, lane, Scope::Block as usize), device]
    }

    /// The lanes of `members`, of which those of `live` have not left, pass a barrier of their warp.
    pub(crate) fn warp_barrier(&mut self, races: &mut Races, warp: u32, members: u32, live: u32) {
        let now = races.now;
        let here = &mut self.warps[warp as usize];
        if live & !members == 0 {
            here.floor = now;
            here.within = None;
        } else {
            let within = Rc::make_mut(here.within.get_or_insert_with(|| Rc::new([[0; LANES]; LANES])));
            let mut row = [0; LANES];
            for lane in lanes(members) {
                for (time, other) in row.iter_mut().zip(within[lane]) {
                    *time = other.max(*time);
                }
            }
            for lane in lanes(members) {
                row[lane] = now;
            }
            for lane in lanes(members) {
                within[lane] = row;
            }
        }
        if here.extra.is_some() {
            let mut masks = [0; LANES];
            masks[warp as usize] = members;
            let parcel = self.pack(races, &masks);
            self.unpack(&masks, &parcel, live & !members == 0);
        }
        races.advance();
    }

    /// The lanes of `members` exchange values. That orders none of their own accesses, as a barrier would; but what one
    /// of them has acquired or read is known to all, so that one lane can wait for other warps and tell its own.
    #[inline]
    pub(crate) fn share_acquired(&mut self, warp: u32, members: u32) {
        if let Some(extra) = &mut self.warps[warp as usize].extra {
            extra.acquired.share(members);
            extra.pending.iter_mut().for_each(|pending| pending.share(members));
        }
    }

    /// All threads have arrived, without waiting, at the block barrier `number`, which some may be waiting at.
    pub(crate) fn pass(&mut self, number: usize) {
        if let Some(signal) = self.signals.iter().position(|signal| signal.0 == number) {
            self.passed = Some(self.signals.swap_remove(signal).1);
        }
    }

    /// Lanes of a warp have waited at the barrier that was [passed](Self::pass) last.
    pub(crate) fn waited(&mut self, warp: u32, mask: u32) {
        if let Some(parcel) = self.passed.clone() {
            let mut masks = [0; LANES];
            masks[warp as usize] = mask;
            self.unpack(&masks, &parcel, false);
        }
    }

    /// Lanes of a warp arrive at a block barrier and do not wait.
    pub(crate) fn signal(&mut self, races: &mut Races, number: usize, warp: u32, mask: u32) {
        let mut masks = [0; LANES];
        masks[warp as usize] = mask;
        let mut parcel = self.pack(races, &masks);
        for lane in lanes(mask) {
            let known = self.release(races, warp, lane);
            join_into(&mut parcel.known, Some(&known));
        }
        match self.signals.iter_mut().find(|signal| signal.0 == number) {
            Some((_, sum)) => sum.join(&parcel),
            None => self.signals.push((number, parcel)),
        }
        races.advance();
    }

    /// The lanes of `waiting`, by warp, pass the block barrier `number`; those of `live` have not left the kernel.
    pub(crate) fn block_barrier(
        &mut self,
        races: &mut Races,
        number: usize,
        waiting: &[u32; LANES],
        live: &[u32; LANES],
    ) {
        let now = races.now;
        let mut parcel = self.pack(races, waiting);
        let full = waiting == live;
        if let Some(signal) = self.signals.iter().position(|signal| signal.0 == number) {
            parcel.join(&self.signals.swap_remove(signal).1);
        }
        if full {
            self.floor = now;
            for warp in &mut self.warps {
                warp.floor = now;
                warp.within = None;
            }
        } else {
            let mut known = Known::floor(self.floor);
            for (warp, here) in self.warps.iter().enumerate().filter(|&(warp, _)| waiting[warp] != 0) {
                known.add_warp(warp as u32, here.floor);
                if waiting[warp] == live[warp] {
                    known.add_warp(warp as u32, now);
                    continue;
                }
                for lane in lanes(waiting[warp]) {
                    for (other, &time) in here.within.iter().flat_map(|within| within[lane].iter().enumerate()) {
                        known.add_lane(warp as u32, other, time);
                    }
                    known.add_lane(warp as u32, lane, now);
                }
            }
            join_into(&mut parcel.known, Some(&Clock::of(races.levels, self.block, known)));
        }
        self.unpack(waiting, &parcel, full);
        races.advance();
    }

    /// What the lanes of `masks`, by warp, have acquired, fenced and read.
    fn pack(&self, races: &Races, masks: &[u32; LANES]) -> Parcel {
        let mut parcel = Parcel::default();
        for (warp, (here, &mask)) in self.warps.iter().zip(masks).enumerate() {
            let Some(extra) = here.extra.as_ref().filter(|_| mask != 0) else { continue };
            extra.acquired.gather(mask, &mut parcel.known);
            for scope in SCOPES {
                extra.pending[scope].gather(mask, &mut parcel.pending[scope]);
                extra.inherited[scope].gather(mask, &mut parcel.fenced[scope]);
                for fenced in extra.fenced[scope].iter().filter(|fenced| fenced.mask & mask != 0) {
                    let clock = self.fenced_together(races, warp as u32, mask, fenced);
                    join_into(&mut parcel.fenced[scope], Some(&clock));
                }
            }
        }
        parcel
    }

    /// What the lanes of `mask` that executed a fence together release.
    fn fenced_together(&self, races: &Races, warp: u32, mask: u32, fenced: &Fenced) -> Clock {
        let mut known = Known::floor(fenced.floor);
        known.add_warp(warp, fenced.warp_floor);
        for lane in lanes(fenced.mask & mask) {
            for (other, &time) in fenced.within.iter().flat_map(|within| within[lane].iter().enumerate()) {
                known.add_lane(warp, other, time);
            }
            known.add_lane(warp, lane, fenced.time);
        }
        let mut sum = Some(Clock::of(races.levels, self.block, known));
        fenced.acquired.gather(fenced.mask & mask, &mut sum);
        sum.unwrap_or_else(|| Clock::of(races.levels, self.block, Known::default()))
    }

    /// Gives the lanes of `masks` what is in a parcel. With `all`, they are all that are left of their warps.
    fn unpack(&mut self, masks: &[u32; LANES], parcel: &Parcel, all: bool) {
        let Parcel { known, fenced, pending } = parcel;
        let lists = fenced.iter().chain(pending);
        if known.is_none() && lists.clone().all(Option::is_none) {
            return;
        }
        for (here, &mask) in self.warps.iter_mut().zip(masks).filter(|&(_, &mask)| mask != 0) {
            let extra = here.extra.get_or_insert_default();
            let give = |to: &mut PerLane, clock: &Option<Clock>| {
                if all {
                    to.set_all(clock.clone());
                } else {
                    lanes(mask).for_each(|lane| to.join_lane(lane, clock.as_ref()));
                }
            };
            give(&mut extra.acquired, known);
            for scope in SCOPES {
                give(&mut extra.inherited[scope], &fenced[scope]);
                give(&mut extra.pending[scope], &pending[scope]);
                // It is in what all lanes have inherited now.
                if all {
                    extra.fenced[scope].clear();
                }
            }
        }
    }
}

impl Parcel {
    fn join(&mut self, other: &Parcel) {
        join_into(&mut self.known, other.known.as_ref());
        for scope in SCOPES {
            join_into(&mut self.fenced[scope], other.fenced[scope].as_ref());
            join_into(&mut self.pending[scope], other.pending[scope].as_ref());
        }
    }
}

/// Whether a clock knows the lanes of `mask` at the time of their access.
pub(crate) fn covers(clock: Option<&Clock>, record: &Record, mask: u32) -> bool {
    let known = clock.and_then(|clock| clock.get(record.block));
    known.is_some_and(|known| known.covers(record.id.warp(), mask, record.time))
}
