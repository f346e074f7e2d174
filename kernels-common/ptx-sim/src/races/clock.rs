//! What a thread knows of others: up to when it is ordered after them.
//!
//! A launch has one time for all of its threads, raised whenever something is released. An access carries the time at
//! which it was made; a thread is ordered after it if it knows its maker at that time or later.

use std::rc::Rc;

/// A time of a launch. It is never reset, so that what earlier launches did is older than what this one does.
pub(crate) type Time = u32;

/// The time does not pass this point: from here on accesses of a thread count as ordered although they may not be.
pub(crate) const LAST: Time = u32::MAX - 1;

/// What is known of the threads of one block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Of every thread.
    pub(crate) floor: Time,
    /// Of the lanes of a warp, by its number, where that is more.
    warps: Vec<(u16, Time)>,
    /// Of a thread, by its number, where that is more.
    threads: Vec<(u16, Time)>,
}

/// The entry of `key` in a sorted list, or 0.
fn find(list: &[(u16, Time)], key: u16) -> Time {
    list.binary_search_by_key(&key, |entry| entry.0).map_or(0, |index| list[index].1)
}

/// Raises the entry of `key` in a sorted list to `time`.
fn raise(list: &mut Vec<(u16, Time)>, key: u16, time: Time) {
    match list.binary_search_by_key(&key, |entry| entry.0) {
        Ok(index) => list[index].1 = list[index].1.max(time),
        Err(index) => list.insert(index, (key, time)),
    }
}

impl Known {
    /// Nothing but that every thread is known up to `floor`.
    pub(crate) fn floor(floor: Time) -> Known {
        Known { floor, ..Known::default() }
    }

    /// Whether the lanes of `mask` of a warp are known at `time`.
    pub(crate) fn covers(&self, warp: u32, mask: u32, time: Time) -> bool {
        time <= self.floor
            || time <= find(&self.warps, warp as u16)
            || crate::rows::lanes(mask).all(|lane| time <= find(&self.threads, (warp * 32) as u16 + lane as u16))
    }

    /// Adds that the lanes of a warp are known at `time`.
    pub(crate) fn add_warp(&mut self, warp: u32, time: Time) {
        if time > self.floor {
            raise(&mut self.warps, warp as u16, time);
        }
    }

    /// Adds that a lane of a warp is known at `time`.
    pub(crate) fn add_lane(&mut self, warp: u32, lane: usize, time: Time) {
        if time > self.floor && time > find(&self.warps, warp as u16) {
            raise(&mut self.threads, (warp * 32) as u16 + lane as u16, time);
        }
    }

    /// Adds what `other` knows.
    pub(crate) fn join(&mut self, other: &Known) {
        self.floor = self.floor.max(other.floor);
        for &(warp, time) in &other.warps {
            raise(&mut self.warps, warp, time);
        }
        for &(thread, time) in &other.threads {
            raise(&mut self.threads, thread, time);
        }
        let (floor, warps) = (self.floor, &mut self.warps);
        warps.retain(|&(_, time)| time > floor);
        self.threads.retain(|&(thread, time)| time > floor && time > find(warps, thread / 32));
    }
}

/// Children of a node.
const FAN: usize = 16;

/// A tree over the numbers of blocks, four bits a level. What clocks have in common they share.
#[derive(Debug)]
enum Node {
    Inner([Option<Rc<Node>>; FAN]),
    Leaf(Known),
}

/// What is known of the threads of any blocks; of at least one.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    root: Rc<Node>,
    levels: u32,
}

/// Levels of the clocks of a launch of `blocks` blocks.
pub(crate) fn levels(blocks: u64) -> u32 {
    (u64::BITS - blocks.saturating_sub(1).leading_zeros()).div_ceil(FAN.ilog2())
}

/// The child in which `block` is, at the node `levels` above the leaves.
fn child(block: u32, levels: u32) -> usize {
    (block.unbounded_shr((levels - 1) * FAN.ilog2())) as usize % FAN
}

impl Clock {
    /// A clock that knows one block.
    pub(crate) fn of(levels: u32, block: u32, known: Known) -> Clock {
        let mut root = Rc::new(Node::Leaf(known));
        for level in 1..=levels {
            let mut children = [const { None }; FAN];
            children[child(block, level)] = Some(root);
            root = Rc::new(Node::Inner(children));
        }
        Clock { root, levels }
    }

    /// What is known of a block.
    pub(crate) fn get(&self, block: u32) -> Option<&Known> {
        let (mut node, mut levels) = (&self.root, self.levels);
        loop {
            match &**node {
                Node::Leaf(known) => return Some(known),
                Node::Inner(children) => node = children[child(block, levels)].as_ref()?,
            }
            levels -= 1;
        }
    }

    /// Adds what `other` knows.
    pub(crate) fn join(&mut self, other: &Clock) {
        self.root = join(&other.root, &self.root).0;
    }

    /// Whether `other` adds nothing.
    pub(crate) fn includes(&self, other: &Clock) -> bool {
        join(&self.root, &other.root).1
    }
}

/// The union of two trees, and whether each of them is all of it. If one is, it is given itself, the first before the
/// second.
fn join(a: &Rc<Node>, b: &Rc<Node>) -> (Rc<Node>, bool, bool) {
    let (mut is_a, mut is_b) = (true, true);
    if Rc::ptr_eq(a, b) {
        return (a.clone(), is_a, is_b);
    }
    let both = match (&**a, &**b) {
        (Node::Leaf(x), Node::Leaf(y)) => {
            let mut both = x.clone();
            both.join(y);
            (is_a, is_b) = (both == *x, both == *y);
            Node::Leaf(both)
        }
        (Node::Inner(x), Node::Inner(y)) => Node::Inner(std::array::from_fn(|index| match (&x[index], &y[index]) {
            (Some(x), Some(y)) => {
                let (both, is_x, is_y) = join(x, y);
                is_a &= is_x;
                is_b &= is_y;
                Some(both)
            }
            (x, y) => {
                is_a &= y.is_none();
                is_b &= x.is_none();
                x.as_ref().or(y.as_ref()).cloned()
            }
        })),
        // All clocks of a launch have the same number of levels.
        _ => return (a.clone(), true, false),
    };
    let whole = match (is_a, is_b) {
        (true, _) => a.clone(),
        (_, true) => b.clone(),
        _ => Rc::new(both),
    };
    (whole, is_a, is_b)
}

/// Adds what `other` knows, if anything.
pub(crate) fn join_into(clock: &mut Option<Clock>, other: Option<&Clock>) {
    match (clock.as_mut(), other) {
        (_, None) => {}
        (None, Some(other)) => *clock = Some(other.clone()),
        (Some(clock), Some(other)) => clock.join(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(levels: u32, block: u32, warp: u32, lane: usize, time: Time) -> Clock {
        let mut known = Known::default();
        known.add_lane(warp, lane, time);
        Clock::of(levels, block, known)
    }

    #[test]
    fn trees_have_room_for_every_block() {
        for (blocks, expected) in [(0, 0), (1, 0), (2, 1), (16, 1), (17, 2), (256, 2), (257, 3), (1 << 32, 8)] {
            assert_eq!(levels(blocks), expected, "{blocks}");
        }
        for blocks in [1, 2, 16, 17, 1000] {
            let mut clock: Option<Clock> = None;
            for block in 0..blocks {
                join_into(&mut clock, Some(&lane(levels(blocks.into()), block, 1, 2, 10 + block)));
            }
            let clock = clock.unwrap();
            for block in 0..blocks {
                let known = clock.get(block).unwrap();
                assert!(known.covers(1, 1 << 2, 10 + block) && !known.covers(1, 1 << 2, 11 + block));
                assert!(!known.covers(1, 1 << 3, 1) && !known.covers(0, 1 << 2, 1));
            }
        }
    }

    #[test]
    fn what_adds_nothing_is_shared() {
        let mut a = lane(2, 3, 0, 0, 5);
        a.join(&lane(2, 200, 0, 0, 5));
        let b = a.clone();
        a.join(&lane(2, 3, 0, 0, 4));
        assert!(Rc::ptr_eq(&a.root, &b.root));
        let mut c = lane(2, 3, 0, 0, 5);
        assert!(a.includes(&c) && !c.includes(&a));
        c.join(&a);
        assert!(Rc::ptr_eq(&a.root, &c.root), "of equal ones that of the other");
        let d = a.clone();
        a.join(&lane(2, 3, 0, 0, 4));
        assert!(Rc::ptr_eq(&a.root, &d.root));
        a.join(&Clock::of(2, 3, Known::floor(9)));
        assert!(!Rc::ptr_eq(&a.root, &b.root));
        assert_eq!(*a.get(3).unwrap(), Known::floor(9), "what is less than the floor is dropped");
    }
}
