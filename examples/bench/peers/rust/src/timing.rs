//! Samples of one operation: batches that are long enough for the clock.

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How calls are made and timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Calls one after the other, as a program queues them
    OneByOne,
    /// From the call to the result in the host's memory, or to the end of the work where it is an array, by the host's
    /// clock
    Latency,
}

/// An operation on inputs that are there.
pub trait Work {
    /// How long a batch that is queued should take, in microseconds, and the most calls of one.
    const QUEUED: (f64, usize);

    /// Queues a call.
    ///
    /// # Errors
    /// Those of the peer.
    fn queue(&mut self) -> Result<()>;

    /// A call, until its value is in the host's memory; until the work is done where that is an array.
    ///
    /// # Errors
    /// Those of the peer.
    fn finish(&mut self) -> Result<()>;

    /// Waits for all that was queued.
    ///
    /// # Errors
    /// Those of the peer, also of earlier work.
    fn wait(&mut self) -> Result<()>;

    /// Microseconds that so many queued calls take.
    ///
    /// # Errors
    /// Those of the peer, also of earlier work.
    fn queued_us(&mut self, calls: usize) -> Result<f64>;
}

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Samples at most.
    pub rounds: usize,
    /// No more after this, once there are three.
    pub limit: Duration,
}

/// As in `bench`: a batch of calls that end on the host, in microseconds, and the most calls of one.
const FINISHED: (f64, usize) = (1000.0, 240);

/// Samples in microseconds of a call.
///
/// # Errors
/// Those of the peer.
pub fn sample<W: Work>(work: &mut W, mode: Mode, plan: Plan) -> Result<Vec<f64>> {
    let began = Instant::now();
    let mut samples = Vec::new();
    let (batch, most) = match mode {
        Mode::OneByOne => W::QUEUED,
        Mode::Latency => FINISHED,
    };
    // One call first: it loads or compiles what it needs.
    work.finish()?;
    let mut calls = calls_of(one(work, mode, 1)?, batch, most);
    // The first was the slowest.
    calls = calls_of(one(work, mode, calls.min(8))?, batch, most);
    while samples.len() < plan.rounds && (samples.len() < 3 || began.elapsed() < plan.limit) {
        samples.push(one(work, mode, calls)?);
    }
    Ok(samples)
}

/// Microseconds of a call, of so many.
fn one<W: Work>(work: &mut W, mode: Mode, calls: usize) -> Result<f64> {
    let us = match mode {
        Mode::OneByOne => work.queued_us(calls)?,
        Mode::Latency => {
            work.wait()?;
            let start = Instant::now();
            for _ in 0..calls {
                work.finish()?;
            }
            start.elapsed().as_secs_f64() * 1e6
        }
    };
    Ok(us / calls as f64)
}

/// How many calls of so many microseconds make a batch.
fn calls_of(us: f64, batch: f64, most: usize) -> usize {
    ((batch / us.max(1e-3)).ceil() as usize).clamp(1, most)
}

/// Samples of one quantity, in brief, as `bench` has them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Summary {
    pub samples: usize,
    pub median: f64,
    /// The median distance of a sample from the median.
    pub spread: f64,
    pub min: f64,
    pub max: f64,
}

impl Summary {
    /// Sums up samples, of which there is at least one.
    pub fn of(samples: &[f64]) -> Summary {
        let center = median(samples);
        let distances: Vec<f64> = samples.iter().map(|sample| (sample - center).abs()).collect();
        Summary {
            samples: samples.len(),
            median: center,
            spread: median(&distances),
            min: samples.iter().copied().fold(f64::INFINITY, f64::min),
            max: samples.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// The middle sample, or the mean of the two in the middle.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call takes so many microseconds, by its own account.
    struct Made {
        us: f64,
        queued: usize,
        finished: usize,
    }

    impl Work for Made {
        const QUEUED: (f64, usize) = (1000.0, 240);
        fn queue(&mut self) -> Result<()> {
            self.queued += 1;
            Ok(())
        }
        fn finish(&mut self) -> Result<()> {
            self.finished += 1;
            Ok(())
        }
        fn wait(&mut self) -> Result<()> {
            Ok(())
        }
        fn queued_us(&mut self, calls: usize) -> Result<f64> {
            for _ in 0..calls {
                self.queue()?;
            }
            Ok(self.us * calls as f64)
        }
    }

    #[test]
    fn a_batch_is_long_enough() {
        let plan = Plan { rounds: 5, limit: Duration::from_secs(60) };
        let mut work = Made { us: 100.0, queued: 0, finished: 0 };
        assert_eq!(sample(&mut work, Mode::OneByOne, plan).unwrap(), [100.0; 5]);
        // One, eight, and five times ten.
        assert_eq!((work.queued, work.finished), (59, 1));
        assert_eq!(sample(&mut work, Mode::Latency, plan).unwrap().len(), 5);
    }

    #[test]
    fn what_is_slow_has_three_samples() {
        let plan = Plan { rounds: 5, limit: Duration::ZERO };
        let mut work = Made { us: 1e6, queued: 0, finished: 0 };
        assert_eq!(sample(&mut work, Mode::OneByOne, plan).unwrap().len(), 3);
        assert_eq!(work.queued, 5);
    }

    #[test]
    fn an_outlier_moves_neither_median_nor_spread() {
        let summary = Summary::of(&[10.0, 11.0, 9.0, 12.0, 1000.0]);
        assert_eq!(summary, Summary { samples: 5, median: 11.0, spread: 1.0, min: 9.0, max: 1000.0 });
        assert_eq!(median(&[1.0, 4.0, 2.0, 3.0]), 2.5);
    }
}
