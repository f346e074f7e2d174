//! One sample of a way: a batch of calls, long enough for the clock.

use std::time::Instant;

use anyhow::Result;
use clap::ValueEnum;
use kernels_common::stream::Stream;
use serde::{Deserialize, Serialize};

use super::graph::Graph;
use super::size::Size;
use super::subject::Subject;

/// How calls are made and timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// Calls one after the other, by device events around many of them: what a program sees that queues work
    OneByOne,
    /// As many calls in a CUDA graph, by device events around its launch: the device without the host
    Graph,
    /// From the call to the result in the host's memory, by the host's clock
    Latency,
}

impl Mode {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::OneByOne => "one-by-one",
            Mode::Graph => "graph",
            Mode::Latency => "latency",
        }
    }
}

/// How long a batch should take. Events are exact to half a microsecond, and around a graph there is a gap of some.
const BATCH_US: f64 = 1000.0;

/// The most calls of a batch: the driver's queue holds about a thousand launches, and some ways need several.
const MOST_CALLS: u32 = 240;

/// Calls of one way that are timed together.
pub(crate) struct Batch {
    way: usize,
    pub(crate) calls: u32,
    kind: Kind,
}

enum Kind {
    Queue,
    Graph(Graph),
    Host,
}

impl Batch {
    /// Finds out how many calls make a batch, and records them where the mode asks for it. The way has run before.
    ///
    /// # Errors
    /// Those of the way; that the driver cannot record it.
    pub(crate) fn new(subject: &mut dyn Subject, stream: &Stream, mode: Mode, way: usize, size: Size) -> Result<Batch> {
        let kind = if mode == Mode::Latency { Kind::Host } else { Kind::Queue };
        let mut batch = Batch { way, calls: 3, kind };
        let us = batch.sample(subject, stream, size)?;
        batch.calls = calls_of(us);
        if mode == Mode::Graph {
            let record = || (0..batch.calls).try_for_each(|_| subject.enqueue(way, size));
            // SAFETY: a subject allocates nothing when it is called, its memory stays until it is dropped, and every
            // call can be made again. The graph does not outlive the batch, nor that the subject.
            batch.kind = Kind::Graph(unsafe { Graph::record(stream, record)? });
        }
        Ok(batch)
    }

    /// Microseconds of a call.
    ///
    /// # Errors
    /// Those of the way, also of earlier work.
    pub(crate) fn sample(&self, subject: &mut dyn Subject, stream: &Stream, size: Size) -> Result<f64> {
        let (way, calls) = (self.way, self.calls);
        let us = match &self.kind {
            Kind::Queue => {
                // The device is busy when the clock starts, so that the wait for a first call is in no time.
                subject.enqueue(way, size)?;
                let start = stream.record()?;
                for _ in 0..calls {
                    subject.enqueue(way, size)?;
                }
                let end = stream.record()?;
                f64::from(end.elapsed_ms_since(&start)?) * 1e3
            }
            Kind::Graph(graph) => {
                graph.launch()?;
                let start = stream.record()?;
                graph.launch()?;
                let end = stream.record()?;
                f64::from(end.elapsed_ms_since(&start)?) * 1e3
            }
            Kind::Host => {
                stream.synchronize()?;
                let start = Instant::now();
                for _ in 0..calls {
                    subject.finish(way, size)?;
                }
                start.elapsed().as_secs_f64() * 1e6
            }
        };
        Ok(us / f64::from(calls))
    }
}

/// How many calls of so many microseconds make a batch.
fn calls_of(us: f64) -> u32 {
    // A time that is no number asks for the most, as one of zero does.
    let calls = (BATCH_US / us.max(1e-3)).ceil();
    (calls as u32).clamp(1, MOST_CALLS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_long_enough_and_fits_the_queue() {
        assert_eq!(calls_of(4.0), MOST_CALLS);
        assert_eq!(calls_of(100.0), 10);
        assert_eq!(calls_of(300.0), 4);
        assert_eq!(calls_of(1e6), 1);
        assert_eq!(calls_of(0.0), MOST_CALLS);
        assert_eq!(calls_of(f64::NAN), MOST_CALLS);
    }

    #[test]
    fn names_are_those_of_the_command_line() {
        for mode in Mode::value_variants() {
            assert_eq!(mode.to_possible_value().unwrap().get_name(), mode.name());
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.name());
        }
    }
}
