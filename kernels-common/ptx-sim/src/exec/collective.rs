//! Operations in which the lanes of a warp look at each other: shuffles, votes, matches, reductions, warp barriers.
//!
//! Each works in two steps: every lane contributes a value, and when all members have done so every lane takes its
//! result. As a rule all members are there at once and both steps follow each other. Otherwise the path waits, and the
//! scheduler runs the steps when the last member has come, even if the members wait at different instructions.

use std::marker::PhantomData;

use super::level::Run;
use super::{Flow, Machine};
use crate::code::Ins;
use crate::fault::FaultKind;
use crate::rows::{BIT, LANES, Raw, lanes};

/// Which of the steps an instruction is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Step {
    /// Both, if all members are there.
    #[default]
    Both,
    Contribute,
    Take,
}

/// What the lanes have contributed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) step: Step,
    /// Lanes that have contributed.
    pub(crate) present: u32,
    values: [u64; LANES],
}

impl Exchange {
    pub(crate) const NEW: Exchange = Exchange { step: Step::Both, present: 0, values: [0; LANES] };
}

/// A collective operation. Rows: 0 result, 1 source, 2 and 3 further operands, 4 member mask, 5 predicate result.
pub(crate) trait Collective {
    /// Adds the operation to the counters.
    fn count(m: &mut Machine<'_>);
    /// Puts the values of the active lanes into the exchange.
    ///
    /// # Safety
    /// As for [`Exec`](super::Exec).
    unsafe fn contribute(m: &mut Machine<'_>, ins: &Ins);
    /// Gives the active lanes, all of which have these members, their results.
    ///
    /// # Safety
    /// As for [`Exec`](super::Exec).
    unsafe fn take(m: &mut Machine<'_>, ins: &Ins, members: u32) -> Flow;
}

/// Runs a [`Collective`].
pub(crate) struct Together<C>(PhantomData<C>);

impl<C: Collective> Run for Together<C> {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        // SAFETY: the caller's promise.
        unsafe {
            let row = m.get::<u32>(ins.rows[4]);
            let members = row[m.mask.trailing_zeros() as usize % LANES];
            match m.exchange.step {
                Step::Both => {
                    let mut differs = 0;
                    for lane in 0..LANES {
                        differs |= if m.mask & BIT[lane] != 0 { row[lane] ^ members } else { 0 };
                    }
                    if differs != 0 {
                        return by_members::<C>(m, ins, *row);
                    }
                    if m.mask & !members != 0 && m.checks.lanes {
                        return m.outsider(members);
                    }
                    if members & m.live & !m.mask != 0 {
                        return Flow::Gather;
                    }
                    C::count(m);
                    m.exchange.present = m.mask;
                    C::contribute(m, ins);
                    m.share_acquired();
                    C::take(m, ins, members)
                }
                Step::Contribute => {
                    m.exchange.present |= m.mask;
                    C::contribute(m, ins);
                    Flow::Next
                }
                Step::Take => {
                    C::count(m);
                    m.share_acquired();
                    C::take(m, ins, members)
                }
            }
        }
    }
}

/// Runs a collective operation whose lanes belong to several groups, as those of the tiles of a warp do.
///
/// # Safety
/// As for [`Exec`](super::Exec).
#[inline(never)]
unsafe fn by_members<C: Collective>(m: &mut Machine<'_>, ins: &Ins, row: [u32; LANES]) -> Flow {
    let (mask, full) = (m.mask, m.full);
    let mut groups: Vec<(u32, u32)> = Vec::new();
    for lane in lanes(mask) {
        match groups.iter_mut().find(|group| group.0 == row[lane]) {
            Some(group) => group.1 |= 1 << lane,
            None => groups.push((row[lane], 1 << lane)),
        }
    }
    for &(members, group) in &groups {
        if group & !members != 0 && m.checks.lanes {
            m.mask = group;
            return m.outsider(members);
        }
        if members & m.live & !group != 0 {
            return Flow::Gather;
        }
    }
    C::count(m);
    let mut flow = Flow::Next;
    m.full = false;
    for (members, group) in groups {
        m.mask = group;
        m.exchange.present = group;
        // SAFETY: the caller's promise.
        flow = unsafe {
            C::contribute(m, ins);
            m.share_acquired();
            C::take(m, ins, members)
        };
        if flow == Flow::Fault {
            break;
        }
    }
    (m.mask, m.full) = (mask, full);
    flow
}

impl Machine<'_> {
    /// Passes on what the lanes that have contributed have acquired from other warps.
    #[inline(always)]
    fn share_acquired(&mut self) {
        if self.checks.races {
            self.here.threads.share_acquired(self.warp, self.exchange.present);
        }
    }

    /// The member masks of the collective operation `ins`; those of lanes that are not active mean nothing.
    ///
    /// # Safety
    /// As for [`Exec`](super::Exec).
    pub(crate) unsafe fn members(&self, ins: &Ins) -> [u32; LANES] {
        // SAFETY: the caller's promise.
        *unsafe { self.get::<u32>(ins.rows[4]) }
    }

    #[cold]
    fn outsider(&mut self, members: u32) -> Flow {
        let lane = (self.mask & !members).trailing_zeros();
        let text = format!("lane {lane} executes a warp operation whose member mask {members:#010x} leaves it out");
        self.fail(FaultKind::BadOperand(text), lane as usize)
    }

    /// Contributes the lanes of a 32-bit or 64-bit row.
    #[inline(always)]
    unsafe fn contribute_row<R: Raw>(&mut self, ins: &Ins) {
        // SAFETY: the caller's promise, as for `Exec`.
        let row = *unsafe { self.get::<R>(ins.rows[1]) };
        let mask = self.mask;
        for lane in 0..LANES {
            if mask & BIT[lane] != 0 {
                self.exchange.values[lane] = row[lane].widen();
            }
        }
    }
}

/// How a shuffle finds its source lane.
pub(crate) const UP: u8 = 0;
pub(crate) const DOWN: u8 = 1;
pub(crate) const BUTTERFLY: u8 = 2;
pub(crate) const INDEX: u8 = 3;

/// `shfl.sync`: `rows[2]` is the lane operand and `rows[3]` the packed clamp and segment mask. `extra` bit 0 tells
/// whether there is a predicate result.
pub(crate) struct Shuffle<const MODE: u8>;

impl<const MODE: u8> Collective for Shuffle<MODE> {
    fn count(m: &mut Machine<'_>) {
        m.counters.shuffles += 1;
    }

    #[inline(always)]
    unsafe fn contribute(m: &mut Machine<'_>, ins: &Ins) {
        // SAFETY: the caller's promise.
        unsafe { m.contribute_row::<u32>(ins) }
    }

    #[inline(always)]
    unsafe fn take(m: &mut Machine<'_>, ins: &Ins, members: u32) -> Flow {
        let mut result = [0u32; LANES];
        let mut sources = [0u32; LANES];
        let mut inside = 0u32;
        let mut needed = 0u32;
        // SAFETY: the caller's promise.
        unsafe {
            let b = m.get::<u32>(ins.rows[2]);
            let c = m.get::<u32>(ins.rows[3]);
            for lane in 0..LANES {
                let own = lane as u32;
                let (b, clamp, segment) = (b[lane] & 31, c[lane] & 31, c[lane] >> 8 & 31);
                let highest = own & segment | clamp & !segment;
                let lowest = own & segment;
                let (source, fits) = match MODE {
                    UP => {
                        let source = own.wrapping_sub(b);
                        (source, source as i32 >= highest as i32)
                    }
                    DOWN => (own + b, own + b <= highest),
                    BUTTERFLY => (own ^ b, own ^ b <= highest),
                    _ => {
                        let source = lowest | b & !segment;
                        (source, source <= highest)
                    }
                };
                let source = if fits { source & 31 } else { own };
                sources[lane] = source;
                inside |= if fits { BIT[lane] } else { 0 };
                needed |= if m.mask & BIT[lane] != 0 { 1 << source } else { 0 };
            }
            if needed & !m.exchange.present != 0 && m.checks.lanes {
                let lane = (needed & !m.exchange.present).trailing_zeros();
                let reader = lanes(m.mask).find(|&reader| sources[reader] == lane).unwrap_or(0);
                let present = m.exchange.present;
                return m.fail(FaultKind::AbsentLane { lane, members, present }, reader);
            }
            for lane in 0..LANES {
                result[lane] = m.exchange.values[sources[lane] as usize & 31] as u32;
            }
            m.put(ins.rows[0], &result);
            if ins.extra & 1 != 0 {
                m.put_predicate(ins.rows[5], inside);
            }
        }
        Flow::Next
    }
}

/// What a vote asks.
pub(crate) const ALL: u8 = 0;
pub(crate) const ANY: u8 = 1;
pub(crate) const UNIFORM: u8 = 2;
pub(crate) const BALLOT: u8 = 3;

/// `vote.sync`: `rows[1]` is a predicate, negated if `extra` is all ones; the result is a predicate in `rows[5]`, or
/// for a ballot a register in `rows[0]`.
pub(crate) struct Vote<const MODE: u8>;

impl<const MODE: u8> Collective for Vote<MODE> {
    fn count(m: &mut Machine<'_>) {
        m.counters.votes += 1;
    }

    #[inline(always)]
    unsafe fn contribute(m: &mut Machine<'_>, ins: &Ins) {
        // SAFETY: the caller's promise.
        let bits = unsafe { m.predicate(ins.rows[1]) } ^ ins.extra as u32;
        for lane in lanes(m.mask) {
            m.exchange.values[lane] = u64::from(bits >> lane & 1);
        }
    }

    #[inline(always)]
    unsafe fn take(m: &mut Machine<'_>, ins: &Ins, _: u32) -> Flow {
        let present = m.exchange.present;
        let ballot = lanes(present).fold(0u32, |sum, lane| sum | (m.exchange.values[lane] as u32 & 1) << lane);
        let verdict = match MODE {
            ALL => ballot == present,
            ANY => ballot != 0,
            _ => ballot == 0 || ballot == present,
        };
        // SAFETY: the caller's promise.
        unsafe {
            if MODE == BALLOT {
                m.put(ins.rows[0], &[ballot; LANES]);
            } else {
                m.put_predicate(ins.rows[5], if verdict { u32::MAX } else { 0 });
            }
        }
        Flow::Next
    }
}

/// `match.sync`: which lanes have the same value; `ALL` asks whether all have. `extra` bit 0 tells whether there is a
/// predicate result.
pub(crate) struct Match<R, const MODE: u8>(PhantomData<R>);

impl<R: Raw, const MODE: u8> Collective for Match<R, MODE> {
    fn count(m: &mut Machine<'_>) {
        m.counters.votes += 1;
    }

    #[inline(always)]
    unsafe fn contribute(m: &mut Machine<'_>, ins: &Ins) {
        // SAFETY: the caller's promise.
        unsafe { m.contribute_row::<R>(ins) }
    }

    #[inline(always)]
    unsafe fn take(m: &mut Machine<'_>, ins: &Ins, _: u32) -> Flow {
        let present = m.exchange.present;
        let mut result = [0u32; LANES];
        for lane in lanes(m.mask) {
            let value = m.exchange.values[lane];
            result[lane] = lanes(present)
                .filter(|&other| m.exchange.values[other] == value)
                .fold(0, |sum, other| sum | 1 << other);
            if MODE == ALL && result[lane] != present {
                result[lane] = 0;
            }
        }
        // SAFETY: the caller's promise.
        unsafe {
            m.put(ins.rows[0], &result);
            if ins.extra & 1 != 0 {
                let all = lanes(m.mask).filter(|&lane| result[lane] != 0).fold(0, |sum, lane| sum | 1 << lane);
                m.put_predicate(ins.rows[5], all);
            }
        }
        Flow::Next
    }
}

/// The operation of a warp reduction; one of these is in `extra`.
pub(crate) const REDUX: [fn(u32, u32) -> u32; 8] = [
    |a, b| a.wrapping_add(b),
    |a, b| a.min(b),
    |a, b| a.max(b),
    |a, b| (a as i32).min(b as i32) as u32,
    |a, b| (a as i32).max(b as i32) as u32,
    |a, b| a & b,
    |a, b| a | b,
    |a, b| a ^ b,
];

/// `redux.sync`
pub(crate) struct Redux;

impl Collective for Redux {
    fn count(m: &mut Machine<'_>) {
        m.counters.votes += 1;
    }

    #[inline(always)]
    unsafe fn contribute(m: &mut Machine<'_>, ins: &Ins) {
        // SAFETY: the caller's promise.
        unsafe { m.contribute_row::<u32>(ins) }
    }

    #[inline(always)]
    unsafe fn take(m: &mut Machine<'_>, ins: &Ins, _: u32) -> Flow {
        let f = REDUX[ins.extra as usize % REDUX.len()];
        let values = lanes(m.exchange.present).map(|lane| m.exchange.values[lane] as u32);
        let result = values.reduce(f).unwrap_or(0);
        // SAFETY: the caller's promise.
        unsafe { m.put(ins.rows[0], &[result; LANES]) };
        Flow::Next
    }
}

/// `elect.sync`: the lowest member, whose lane goes to `rows[0]` and whose predicate in `rows[5]` is the one that is set.
pub(crate) struct Elect;

impl Collective for Elect {
    fn count(m: &mut Machine<'_>) {
        m.counters.votes += 1;
    }

    #[inline(always)]
    unsafe fn contribute(_: &mut Machine<'_>, _: &Ins) {}

    #[inline(always)]
    unsafe fn take(m: &mut Machine<'_>, ins: &Ins, _: u32) -> Flow {
        let leader = m.exchange.present.trailing_zeros() % LANES as u32;
        // SAFETY: the caller's promise.
        unsafe {
            m.put(ins.rows[0], &[leader; LANES]);
            m.put_predicate(ins.rows[5], 1 << leader);
        }
        Flow::Next
    }
}

/// `bar.warp.sync`
pub(crate) struct WarpBarrier;

impl Collective for WarpBarrier {
    fn count(m: &mut Machine<'_>) {
        m.counters.warp_barriers += 1;
    }

    #[inline(always)]
    unsafe fn contribute(_: &mut Machine<'_>, _: &Ins) {}

    #[inline(always)]
    unsafe fn take(m: &mut Machine<'_>, _: &Ins, _: u32) -> Flow {
        if m.checks.races {
            m.here.threads.warp_barrier(&mut m.races, m.warp, m.exchange.present, m.live);
        }
        Flow::Next
    }
}

/// `activemask`
pub(crate) struct ActiveMask;

impl Run for ActiveMask {
    #[inline(always)]
    unsafe fn run(m: &mut Machine<'_>, ins: &Ins) -> Flow {
        let mask = m.mask;
        // SAFETY: the caller's promise.
        unsafe { m.put(ins.rows[0], &[mask; LANES]) };
        Flow::Next
    }
}
