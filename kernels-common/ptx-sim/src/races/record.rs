//! Accesses as shadow memory keeps them, and which of them conflict.

use super::clock::Time;
use super::report::{Scope, Strength};

/// An access by lanes of one warp with one instruction, all to the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// When it was made.
    pub(crate) time: Time,
    /// The block, as its place in the grid.
    pub(crate) block: u32,
    /// The lanes.
    pub(crate) mask: u32,
    /// What it was.
    pub(crate) id: Id,
}

/// Warp, kind and instruction of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Id(pub(crate) u32);

/// Mask of the warp of an [`Id`].
pub(crate) const WARP: u32 = 31;
const CLASS: u32 = 5;
const READS: u32 = 1 << 7;
const WRITES: u32 = 1 << 8;
const RELEASES: u32 = 1 << 9;
const PC: u32 = 10;
/// Instructions from this one on are not told apart.
const MAX_PC: u32 = u32::MAX >> PC;

/// How an instruction accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) strength: Strength,
}

impl Id {
    pub(crate) fn new(warp: u32, kind: Kind, pc: u32) -> Id {
        let class = match kind.strength {
            Strength::Weak => 0,
            Strength::Volatile => 1,
            Strength::Strong(Scope::Block) => 2,
            Strength::Strong(Scope::Device) => 3,
        };
        let (reads, writes) = (if kind.reads { READS } else { 0 }, if kind.writes { WRITES } else { 0 });
        Id(warp & WARP | class << CLASS | reads | writes | pc.min(MAX_PC) << PC)
    }

    /// The same of a write that has released something.
    pub(crate) fn releasing(self) -> Id {
        Id(self.0 | RELEASES)
    }

    pub(crate) fn releases(self) -> bool {
        self.0 & RELEASES != 0
    }

    pub(crate) fn warp(self) -> u32 {
        self.0 & WARP
    }

    pub(crate) fn reads(self) -> bool {
        self.0 & READS != 0
    }

    pub(crate) fn writes(self) -> bool {
        self.0 & WRITES != 0
    }

    pub(crate) fn is_weak(self) -> bool {
        self.0 >> CLASS & 3 == 0
    }

    pub(crate) fn strength(self) -> Strength {
        match self.0 >> CLASS & 3 {
            0 => Strength::Weak,
            1 => Strength::Volatile,
            2 => Strength::Strong(Scope::Block),
            _ => Strength::Strong(Scope::Device),
        }
    }

    /// The instruction; `None` if the kernel is so long that it cannot be told.
    pub(crate) fn pc(self) -> Option<u32> {
        let pc = self.0 >> PC;
        (pc < MAX_PC).then_some(pc)
    }

    /// Whether two accesses differ at most in lanes, time and instruction.
    fn is_like(self, other: Id) -> bool {
        let kind = WRITES | 3 << CLASS;
        self.0 & kind == other.0 & kind
    }
}

impl Record {
    /// The same warp of the same block.
    pub(crate) fn shares_warp(&self, other: &Record) -> bool {
        self.block == other.block && self.id.warp() == other.id.warp()
    }

    /// Whether the two are a race if nothing orders them. They are accesses to the same bytes by different threads.
    pub(crate) fn conflicts(&self, other: &Record) -> bool {
        if !self.id.writes() && !other.id.writes() {
            return false;
        }
        match (self.id.strength(), other.id.strength()) {
            (Strength::Weak, _) | (_, Strength::Weak) => true,
            (Strength::Volatile, Strength::Volatile) => self.shares_warp(other),
            (a, b) => {
                let narrow = Strength::Strong(Scope::Block);
                (a == narrow || b == narrow) && self.block != other.block
            }
        }
    }

    /// Whether every access that conflicts with `old`, and is ordered after this one, which is ordered after `old`, can
    /// do without looking at `old`.
    pub(crate) fn outweighs(&self, old: &Record) -> bool {
        (self.id.writes() || !old.id.writes())
            && match (self.id.strength(), old.id.strength()) {
                (Strength::Weak, _) => true,
                (Strength::Volatile, Strength::Volatile) => self.shares_warp(old),
                (Strength::Strong(a), Strength::Strong(b)) if a == b => a == Scope::Device || self.block == old.block,
                _ => false,
            }
    }

    /// Whether what conflicts with this access would conflict with one of these two as well, whatever thread it is of,
    /// since they are of different blocks; or, for threads of its block, of different warps or lanes. (If not all of
    /// them are ordered before it, that is: to forget an access may hide a race, but does not make one up.)
    pub(crate) fn is_represented_by(&self, a: &Record, b: &Record) -> bool {
        let like = self.id.is_like(a.id) && self.id.is_like(b.id);
        like && (a.block != b.block
            || a.block == self.block
                && (a.id.warp() != b.id.warp()
                    || a.id.warp() == self.id.warp() && (a.mask != b.mask || a.mask.count_ones() > 1)))
    }

    /// The same where it is not known what is ordered before this access, but by barriers of all lanes of its warp, or of
    /// its block: an earlier access of the warp may have been ordered by a barrier of some.
    pub(crate) fn is_surely_represented_by(&self, a: &Record, b: &Record) -> bool {
        let is_recent = |old: &Record| old.time == self.time || !old.shares_warp(self);
        is_recent(a) && is_recent(b) && self.is_represented_by(a, b)
    }
}

/// The accesses to some bytes that others may still race with, in the order in which they were made.
pub(crate) type Set = Vec<Record>;

/// Adds an access to a set in which nothing conflicts with it; `ordered` tells what is ordered before it.
pub(crate) fn insert(set: &mut Set, new: Record, ordered: impl Fn(&Record) -> bool) {
    if let Some(same) = set.iter_mut().find(|old| old.id == new.id && old.block == new.block && old.time == new.time) {
        same.mask |= new.mask;
        return;
    }
    set.retain(|old| !(new.outweighs(old) && ordered(old)));
    let mut like = set.iter().enumerate().filter(|(_, old)| new.id.is_like(old.id));
    if let (Some((_, a)), Some((last, b))) = (like.next(), like.next()) {
        if !new.is_represented_by(a, b) {
            set[last] = new;
        }
        return;
    }
    set.push(new);
}
