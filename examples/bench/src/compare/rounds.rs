//! Rounds: several ways timed in turn, until what is to be said about them is certain enough.
//!
//! A clock that changes, a neighbour on the machine, a warm or a cold card meet all ways of a round alike. So ratios
//! are of two times of one round, and their median and spread say more than the ratio of two medians.

use anyhow::Result;

use crate::statistics::Summary;

/// How many rounds there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plan {
    /// So many at least.
    pub(crate) least: u32,
    /// So many at most.
    pub(crate) most: u32,
    /// Enough once no ratio of the first way to another spreads by more than this share of itself.
    pub(crate) noise: f64,
}

/// The times of all ways.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Times {
    /// For each way, one of each round.
    pub(crate) of_way: Vec<Vec<f64>>,
    /// Whether the ratios spread by no more than the plan asks for.
    pub(crate) settled: bool,
}

impl Times {
    /// How many times as long as `ours` the way `other` takes, in each round.
    pub(crate) fn ratios(&self, ours: usize, other: usize) -> Summary {
        let ratios: Vec<f64> =
            self.of_way[other].iter().zip(&self.of_way[ours]).map(|(other, ours)| other / ours).collect();
        Summary::of(&ratios)
    }

    fn is_settled(&self, noise: f64) -> bool {
        (1..self.of_way.len()).all(|other| {
            let ratio = self.ratios(0, other);
            ratio.spread <= noise * ratio.median
        })
    }
}

/// Times `ways` ways in turn with `sample`, each round beginning where the one before was second. A first round warms
/// up and does not count.
///
/// # Errors
/// Those of `sample`.
pub(crate) fn run(plan: Plan, ways: usize, mut sample: impl FnMut(usize) -> Result<f64>) -> Result<Times> {
    let mut times = Times { of_way: vec![Vec::new(); ways], settled: false };
    for round in 0..=plan.most.max(1) as usize {
        for turn in 0..ways {
            let way = (round + turn) % ways;
            let time = sample(way)?;
            if round > 0 {
                times.of_way[way].push(time);
            }
        }
        if round >= plan.least.max(1) as usize {
            times.settled = times.is_settled(plan.noise);
            if times.settled {
                break;
            }
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan { least: 5, most: 20, noise: 0.01 };

    #[test]
    fn what_disturbs_a_round_leaves_its_ratio() {
        // Each round is slower than the one before, for both.
        let mut calls = 0;
        let times = run(PLAN, 2, |way| {
            let round = calls / 2;
            calls += 1;
            Ok((1.0 + f64::from(round)) * [10.0, 15.0][way])
        });
        let times = times.unwrap();
        assert!(times.settled);
        assert_eq!(times.of_way[0], [20.0, 30.0, 40.0, 50.0, 60.0]);
        let ratio = times.ratios(0, 1);
        assert_eq!((ratio.median, ratio.spread, ratio.samples), (1.5, 0.0, 5));
    }

    #[test]
    fn noise_asks_for_more_rounds() {
        let (mut calls, mut order) = (0, Vec::new());
        let times = run(PLAN, 2, |way| {
            order.push(way);
            calls += 1;
            // The second way wanders in the first rounds.
            let round = (calls - 1) / 2;
            Ok(if way == 1 && round < 8 { 10.0 + f64::from(round % 3) } else { 10.0 })
        });
        let times = times.unwrap();
        assert!(times.settled);
        assert_eq!(times.of_way[1].len(), times.of_way[0].len());
        assert!((8..=20).contains(&times.of_way[0].len()), "{times:?}");
        assert_eq!(order[..4], [0, 1, 1, 0]);
    }

    #[test]
    fn it_ends_all_the_same() {
        let mut calls = 0;
        let times = run(PLAN, 2, |way| {
            calls += 1;
            Ok(if way == 1 { 10.0 + f64::from(calls % 7) } else { 10.0 })
        });
        let times = times.unwrap();
        assert!(!times.settled);
        assert_eq!(times.of_way[0].len(), 20);
    }

    #[test]
    fn one_way_alone_needs_no_more_than_the_least() {
        let times = run(PLAN, 1, |_| Ok(1.0)).unwrap();
        assert_eq!((times.of_way[0].len(), times.settled), (5, true));
    }

    #[test]
    fn an_error_ends_it() {
        assert!(run(PLAN, 2, |way| if way == 1 { anyhow::bail!("no") } else { Ok(1.0) }).is_err());
    }
}
