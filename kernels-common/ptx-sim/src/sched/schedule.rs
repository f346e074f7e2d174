//! What a seed decides: who runs next, and for how long.

use super::random::Random;

/// Log2 of the longest turns.
const LONGEST: usize = 12;
/// Turns of a phase.
const PHASE: u32 = 512;
/// After the first phase, one of so many has a bound of its own on its turns.
const BOUNDED_PHASES: usize = 8;

/// The decisions of a launch with a seed.
///
/// A turn is a number of instructions, its logarithm uniform up to a bound, and the bound is drawn anew for each phase
/// of turns. So some launches, and some stretches of a long one, go on by one instruction at a time, others by whole
/// warps at a time, and in most a turn that ends between any two instructions is followed by long ones of others: an
/// order that takes many switches comes up as well as one that takes a single switch at the right place. Most phases
/// after the first have no bound and longer turns, in which most instructions are executed, so that all of this costs
/// little.
#[derive(Debug)]
pub(crate) struct Schedule {
    random: Random,
    /// Log2 of the longest turns of this phase, if it has a bound of its own.
    bound: Option<usize>,
    /// Turns left to it.
    turns: u32,
    /// No phase has begun.
    fresh: bool,
}

impl Schedule {
    pub(crate) fn new(seed: u64) -> Schedule {
        Schedule { random: Random::new(seed), bound: None, turns: 0, fresh: true }
    }

    /// Random numbers for something else, with their own stream.
    pub(crate) fn fork(&mut self) -> Random {
        Random::new(self.random.next())
    }

    pub(crate) fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Instructions of the next turn: at least one.
    pub(crate) fn turn(&mut self) -> u32 {
        if self.turns == 0 {
            self.turns = PHASE;
            let bounded = self.fresh || self.random.below(BOUNDED_PHASES) == 0;
            self.bound = bounded.then(|| self.random.below(LONGEST + 1));
            self.fresh = false;
        }
        self.turns -= 1;
        match self.bound {
            Some(bound) => self.log_uniform(bound),
            None => self.log_uniform(LONGEST).max(self.log_uniform(LONGEST)),
        }
    }

    /// How many of `most` blocks that fit are resident at once: from one to all of them.
    pub(crate) fn residents(&mut self, most: usize) -> usize {
        (self.log_uniform(most.max(1).ilog2() as usize) as usize).min(most)
    }

    /// From 1 up to twice 2^`log`, every power of two as likely as any other.
    fn log_uniform(&mut self, log: usize) -> u32 {
        let least = 1 << self.random.below(log + 1);
        (least + self.random.below(least)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_short_and_long_and_long_ones_do_the_work() {
        let mut schedule = Schedule::new(1);
        let turns: Vec<u64> = (0..1 << 20).map(|_| schedule.turn().into()).collect();
        let share = |range: std::ops::Range<u64>| {
            turns.iter().filter(|turn| range.contains(turn)).count() as f64 / turns.len() as f64
        };
        assert!(turns.iter().all(|turn| (1..2 << LONGEST).contains(turn)));
        for (range, least) in [(1..2, 0.02), (2..4, 0.02), (4..16, 0.05), (16..256, 0.1), (1024..1 << 13, 0.2)] {
            let found = share(range.clone());
            assert!(found > least, "{found} of the turns are in {range:?}");
        }
        let in_long_turns: u64 = turns.iter().filter(|&&turn| turn >= 64).sum();
        assert!(in_long_turns as f64 > 0.95 * turns.iter().sum::<u64>() as f64);
    }

    #[test]
    fn phases_of_single_instructions_come_up() {
        let fine = (0..64).filter(|&seed| {
            let mut schedule = Schedule::new(seed);
            (0..100).all(|_| schedule.turn() == 1)
        });
        assert!((1..20).contains(&fine.count()));
    }

    #[test]
    fn any_number_of_blocks_can_be_resident() {
        for most in [1, 2, 3, 7, 16] {
            let mut seen: Vec<usize> = (0..1000).map(|seed| Schedule::new(seed).residents(most)).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen, (1..=most).collect::<Vec<_>>());
        }
    }
}
