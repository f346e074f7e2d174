//! The host threads that run the blocks of a launch, and how they share the work.

use std::any::Any;
use std::iter::Sum;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Blocks that a thread takes at a time, if there are enough for all: neighbours often use neighbouring memory.
const CHUNK: u64 = 8;

/// Blocks that are still to begin, and what the threads know of each other.
pub(crate) struct Queue {
    blocks: u64,
    /// Blocks that have been taken.
    taken: AtomicU64,
    /// No block from here on is to run: the number of blocks, or the place of the first that met a fault.
    end: AtomicU64,
    /// PTX instructions left to the launch.
    instructions: AtomicU64,
    /// What each thread has done that others may wait for.
    progress: Vec<Progress>,
}

/// A counter in a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Progress(AtomicU64);

/// One thread's part in the work.
pub(crate) struct Worker<'a> {
    queue: &'a Queue,
    number: usize,
    /// Blocks that it has taken and that have not begun.
    next: std::ops::Range<u64>,
}

impl Queue {
    pub(crate) fn new(blocks: u64, instructions: u64, workers: usize) -> Queue {
        Queue {
            blocks,
            taken: AtomicU64::new(0),
            end: AtomicU64::new(blocks),
            instructions: AtomicU64::new(instructions),
            progress: (0..workers).map(|_| Progress::default()).collect(),
        }
    }

    pub(crate) fn worker(&self, number: usize) -> Worker<'_> {
        Worker { queue: self, number, next: 0..0 }
    }

    /// Runs `work` for every worker, each on a thread of its own, the first on this one; gives what they return, in
    /// order. Where the host refuses a thread the others do its work.
    ///
    /// # Panics
    /// If one of them panics; the others stop before their next block.
    pub(crate) fn run<T: Send>(&self, work: impl Fn(Worker<'_>) -> T + Sync) -> Vec<T> {
        let guarded = |number| {
            let stop = StopOnPanic(self);
            let result = work(self.worker(number));
            std::mem::forget(stop);
            result
        };
        let guarded = &guarded;
        thread::scope(|scope| {
            let spawn = |number| thread::Builder::new().spawn_scoped(scope, move || guarded(number)).ok();
            let others: Vec<_> = (1..self.progress.len()).filter_map(spawn).collect();
            let mut results = vec![guarded(0)];
            let mut panic: Option<Box<dyn Any + Send>> = None;
            for other in others {
                match other.join() {
                    Ok(result) => results.push(result),
                    Err(payload) => panic = panic.or(Some(payload)),
                }
            }
            panic.map_or(results, |payload| resume_unwind(payload))
        })
    }
}

/// The sum of what the workers have counted, or the fault of the block that comes first: all blocks before it have run
/// to their end.
pub(crate) fn first_fault<T: Sum, E>(outcomes: Vec<Result<T, (u64, E)>>) -> Result<T, E> {
    let mut first: Option<(u64, E)> = None;
    let counted = outcomes.into_iter().filter_map(|outcome| match outcome {
        Ok(counted) => Some(counted),
        Err(fault) => {
            if first.as_ref().is_none_or(|first| fault.0 < first.0) {
                first = Some(fault);
            }
            None
        }
    });
    let sum = counted.sum();
    first.map_or(Ok(sum), |(_, fault)| Err(fault))
}

/// Has the other threads stop when one panics.
struct StopOnPanic<'a>(&'a Queue);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        self.0.end.store(0, Ordering::Relaxed);
    }
}

impl Worker<'_> {
    /// The place of the next block to run: they are taken in ascending order.
    pub(crate) fn take(&mut self) -> Option<u64> {
        let Queue { blocks, taken, progress, .. } = self.queue;
        if self.next.is_empty() {
            let workers = progress.len() as u64;
            let count = if blocks / workers >= 4 * CHUNK { CHUNK } else { 1 };
            let first = taken.fetch_add(count, Ordering::Relaxed);
            self.next = first.min(*blocks)..(first + count).min(*blocks);
        }
        self.next.next().filter(|&place| !self.is_cancelled(place))
    }

    /// Whether the block at `place` need not run, since an earlier one has met a fault.
    pub(crate) fn is_cancelled(&self, place: u64) -> bool {
        place >= self.queue.end.load(Ordering::Relaxed)
    }

    /// Has no block run that comes after the one at `place`, which has met a fault.
    pub(crate) fn cancel_after(&self, place: u64) {
        self.queue.end.fetch_min(place, Ordering::Relaxed);
    }

    /// Takes `spent` PTX instructions off what is left to the launch, and gives the rest.
    pub(crate) fn spend(&self, spent: u64) -> u64 {
        let take = |left: u64| Some(left.saturating_sub(spent));
        let (Ok(left) | Err(left)) = self.queue.instructions.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        left.saturating_sub(spent)
    }

    /// Tells the others that this thread has not waited in vain.
    pub(crate) fn has_moved(&self) {
        let mine = &self.queue.progress[self.number].0;
        mine.store(mine.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// A number that grows whenever a thread has moved.
    pub(crate) fn movement(&self) -> u64 {
        self.queue.progress.iter().map(|progress| progress.0.load(Ordering::Relaxed)).sum()
    }

    /// Whether there are others.
    pub(crate) fn has_company(&self) -> bool {
        self.queue.progress.len() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_taken_once_and_in_order() {
        for blocks in [0, 1, 5, 63, 64, 1000] {
            let queue = Queue::new(blocks, 1, 3);
            let taken = queue.run(|mut worker| std::iter::from_fn(|| worker.take()).collect::<Vec<_>>());
            assert!(taken.iter().all(|places| places.is_sorted()));
            let mut all = taken.concat();
            all.sort_unstable();
            assert_eq!(all, (0..blocks).collect::<Vec<_>>());
        }
    }

    #[test]
    fn blocks_after_a_fault_are_not_taken() {
        let queue = Queue::new(1000, 1, 2);
        let mut worker = queue.worker(0);
        assert_eq!(worker.take(), Some(0));
        queue.worker(1).cancel_after(3);
        queue.worker(1).cancel_after(700);
        assert_eq!((worker.take(), worker.take(), worker.take()), (Some(1), Some(2), None));
        assert!(worker.is_cancelled(3) && !worker.is_cancelled(2));
    }

    #[test]
    fn the_fault_of_the_first_block_counts() {
        assert_eq!(first_fault::<u32, ()>(vec![Ok(1), Ok(4)]), Ok(5));
        let faults = [(30, "later"), (20, "first"), (40, "last")];
        for turn in 0..3 {
            let mut outcomes: Vec<_> = faults.map(Err).into();
            outcomes.push(Ok(7));
            outcomes.rotate_left(turn);
            assert_eq!(first_fault::<u32, _>(outcomes), Err("first"));
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_stops_the_others() {
        for culprit in [0, 1] {
            let queue = Queue::new(u64::MAX / 2, 1, 2);
            let run = || {
                queue.run(|mut worker| {
                    assert!(worker.number != culprit, "worker {culprit}");
                    while worker.take().is_some() {}
                })
            };
            let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
            assert_eq!(*payload.downcast::<String>().unwrap(), format!("worker {culprit}"));
        }
    }

    #[test]
    fn instructions_run_out_once_for_all() {
        let queue = Queue::new(1, 10, 2);
        assert_eq!(queue.worker(0).spend(4), 6);
        assert_eq!(queue.worker(1).spend(7), 0);
    }
}
