//! A contest: every way of a subject, checked and timed at every size, in every mode.

use anyhow::{Context, Result};
use kernels_common::stream::Stream;

use super::batch::{Batch, Mode};
use super::results::{Point, Timed};
use super::rounds::{self, Plan};
use super::size::Size;
use super::subject::{Role, Subject};

/// What to do.
#[derive(Clone, Debug)]
pub(crate) struct Contest<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) sizes: &'a [Size],
    pub(crate) modes: &'a [Mode],
    pub(crate) plan: Plan,
    /// Bytes of the second-level cache.
    pub(crate) l2_cache: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// For each mode, a point for each size.
    pub(crate) points: Vec<Vec<Point>>,
    /// What went wrong with others than the default.
    pub(crate) failures: Vec<String>,
}

impl Contest<'_> {
    /// Measures. `report` is told what is done next.
    ///
    /// Something wrong with the default ends it: there is nothing to compare with others. Another way with a wrong result
    /// or an error is left out at that size, and is a failure.
    ///
    /// # Errors
    /// A wrong result or an error of the default; an error of the device.
    pub(crate) fn run(&self, subject: &mut dyn Subject, mut report: impl FnMut(String)) -> Result<Outcome> {
        let mut outcome = Outcome { points: vec![Vec::new(); self.modes.len()], failures: Vec::new() };
        for &size in self.sizes {
            report(format!("{size}: checking"));
            subject.prepare(size)?;
            let mut fit: Vec<usize> = (0..subject.ways().len()).collect();
            self.sift(subject, &mut fit, &mut outcome.failures, size, |subject, way| subject.check(way, size))?;
            for (points, &mode) in outcome.points.iter_mut().zip(self.modes) {
                report(format!("{size}: {}", mode.name()));
                points.push(self.point(subject, &mut fit.clone(), &mut outcome.failures, size, mode)?);
            }
            // What many calls left behind must not spoil a later one.
            self.sift(subject, &mut fit, &mut outcome.failures, size, |subject, way| subject.check(way, size))?;
        }
        Ok(outcome)
    }

    /// Does something with each way of `fit`, and takes those out that fail.
    fn sift<S: ?Sized + Subject, R>(
        &self,
        subject: &mut S,
        fit: &mut Vec<usize>,
        failures: &mut Vec<String>,
        size: Size,
        mut work: impl FnMut(&mut S, usize) -> Result<R>,
    ) -> Result<Vec<R>> {
        let ways = subject.ways();
        let (mut left, mut results) = (Vec::new(), Vec::new());
        for &way in fit.iter() {
            let named = &ways[way];
            match work(subject, way) {
                Ok(result) => {
                    left.push(way);
                    results.push(result);
                }
                Err(error) if named.role == Role::Ours => {
                    // Nothing may be running when memory goes.
                    let _ = self.stream.synchronize();
                    return Err(error).with_context(|| format!("{}, n = {size}", named.name));
                }
                Err(error) => failures.push(format!("{}, n = {size}: {error:#}", named.name)),
            }
        }
        *fit = left;
        Ok(results)
    }

    fn point(
        &self,
        subject: &mut dyn Subject,
        fit: &mut Vec<usize>,
        failures: &mut Vec<String>,
        size: Size,
        mode: Mode,
    ) -> Result<Point> {
        let batches =
            self.sift(subject, fit, failures, size, |subject, way| Batch::new(subject, self.stream, mode, way, size))?;
        let times = rounds::run(self.plan, batches.len(), |batch| batches[batch].sample(subject, self.stream, size));
        let waited = self.stream.synchronize();
        let times = times.with_context(|| format!("{}, n = {size}", mode.name()))?;
        waited?;

        let bus = self.stream.device().properties().bus_bandwidth();
        let ways = subject.ways();
        let timed = fit.iter().zip(&batches).zip(&times.of_way).map(|((&way, batch), us)| {
            let bytes = subject.bytes(way, size);
            Timed::new(&ways[way], bytes, batch.calls, us, bus)
        });
        let timed: Vec<Timed> = timed.collect();
        let mut ratios = Vec::new();
        for (ours, own) in timed.iter().enumerate().filter(|(_, own)| own.role.is_own()) {
            let others = timed.iter().enumerate().filter(|(_, other)| !other.role.is_own());
            let default =
                timed.iter().enumerate().filter(|(_, other)| own.role == Role::Variant && other.role == Role::Ours);
            for (number, other) in others.chain(default) {
                ratios.push(own.beside(other, times.ratios(ours, number)));
            }
        }
        let in_l2 = subject.bytes(0, size) <= self.l2_cache;
        let rounds = times.of_way.first().map_or(0, Vec::len);
        let (size, n) = (size.to_string(), size.elements());
        Ok(Point { size, n, in_l2, rounds, settled: times.settled, ways: timed, ratios })
    }
}

#[cfg(test)]
mod tests {
    use kernels_common::device::Device;

    use super::*;
    use crate::compare::subject::Named;

    /// Ways that do nothing, and may be wrong.
    struct Made {
        wrong: &'static str,
        stream: Stream,
        calls: Vec<u32>,
    }

    const NAMES: [(&str, Role); 3] = [("ours", Role::Ours), ("peer", Role::Peer), ("ceiling", Role::Ceiling)];

    impl Subject for Made {
        fn ways(&self) -> Vec<Named> {
            NAMES.iter().map(|(name, role)| Named { name: (*name).to_owned(), role: *role }).collect()
        }

        fn bytes(&self, _: usize, size: Size) -> u64 {
            4 * size.elements()
        }

        fn prepare(&mut self, _: Size) -> Result<()> {
            Ok(())
        }

        fn enqueue(&mut self, way: usize, _: Size) -> Result<()> {
            self.calls[way] += 1;
            Ok(())
        }

        fn finish(&mut self, way: usize, size: Size) -> Result<()> {
            self.enqueue(way, size)?;
            Ok(self.stream.synchronize()?)
        }

        fn check(&mut self, way: usize, _: Size) -> Result<()> {
            anyhow::ensure!(self.wrong != NAMES[way].0, "the result is wrong");
            Ok(())
        }
    }

    fn contest(wrong: &'static str, modes: &[Mode]) -> (Result<Outcome>, Vec<u32>) {
        let stream = Device::open("sim").unwrap().stream().unwrap();
        let plan = Plan { least: 3, most: 3, noise: 0.01 };
        let sizes = [Size::Vector(1024), Size::Vector(1 << 40)];
        let mut made = Made { wrong, stream: stream.clone(), calls: vec![0; 3] };
        let contest = Contest { stream: &stream, sizes: &sizes, modes, plan, l2_cache: 1 << 20 };
        let outcome = contest.run(&mut made, |_| {});
        (outcome, made.calls)
    }

    #[test]
    fn every_way_is_timed_at_every_size() {
        let (outcome, calls) = contest("", &[Mode::OneByOne, Mode::Latency]);
        let outcome = outcome.unwrap();
        assert_eq!(outcome.failures, [""; 0]);
        assert_eq!(outcome.points.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        assert!(calls.iter().all(|calls| *calls > 0));
        let point = &outcome.points[1][0];
        assert_eq!((point.size.as_str(), point.n, point.rounds), ("2^10", 1024, 3));
        assert!(point.in_l2 && !outcome.points[1][1].in_l2);
        let names: Vec<_> = point.ways.iter().map(|way| way.name.as_str()).collect();
        assert_eq!(names, ["ours", "peer", "ceiling"]);
        // Whatever the clock said, ours is compared with the others, and their times are of the same rounds.
        let pairs: Vec<_> = point.ratios.iter().map(|ratio| (ratio.ours.as_str(), ratio.other.as_str())).collect();
        assert_eq!(pairs, [("ours", "peer"), ("ours", "ceiling")]);
        assert!(point.ways.iter().all(|way| way.us.samples == 3 && way.bytes == 4096));
        assert!(point.ratios.iter().all(|ratio| ratio.times.samples == 3));
    }

    #[test]
    fn a_wrong_peer_is_left_out_and_named() {
        let (outcome, calls) = contest("peer", &[Mode::Latency]);
        let outcome = outcome.unwrap();
        assert_eq!(outcome.failures[0], "peer, n = 2^10: the result is wrong");
        assert_eq!(outcome.points[0][0].ways.len(), 2);
        assert_eq!(calls[1], 0);
    }

    #[test]
    fn a_wrong_result_of_ours_ends_it() {
        let error = contest("ours", &[Mode::Latency]).0.unwrap_err();
        assert_eq!(format!("{error:#}"), "ours, n = 2^10: the result is wrong");
    }

    #[test]
    fn what_cannot_be_recorded_says_so() {
        let error = contest("", &[Mode::Graph]).0.unwrap_err();
        assert!(format!("{error:#}").contains("only a GPU's stream can be recorded"), "{error:#}");
    }
}
