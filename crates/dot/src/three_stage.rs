//! The classic dot product in three launches.

use kernels_common::element::Element;
use kernels_common::error::Result;
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::{DeviceBuffer, Slice, SliceMut};
use kernels_common::module::{self, Kernel};
use kernels_common::stream::Stream;

use crate::PTX;

/// Threads of a block, and values that it reduces to one, in the first two stages.
const THREADS: u32 = 256;
/// Threads of the one block of the third stage.
const LAST_THREADS: u32 = 128;

/// How many partials the first stage leaves, and how many the second.
fn partials(n: u64) -> (u64, u64) {
    let first = n.div_ceil(THREADS.into());
    (first, first.div_ceil(THREADS.into()))
}

/// The shapes of the three launches for `n` elements.
fn configs(n: u64) -> Result<[LaunchConfig; 3]> {
    let (first, _) = partials(n);
    Ok([
        LaunchConfig::covering_square(n, THREADS)?,
        LaunchConfig::covering_square(first, THREADS)?,
        LaunchConfig::linear(1, LAST_THREADS),
    ])
}

/// The product, a tree of 256 in each of the first two stages; then the adds of one thread of the last stage and its
/// tree.
pub(crate) fn depth(n: u64) -> u64 {
    let (_, second) = partials(n);
    let tree = u64::from(THREADS.ilog2());
    1 + tree + tree + second.div_ceil(LAST_THREADS.into()) + u64::from(LAST_THREADS.ilog2())
}

#[derive(Debug)]
pub(crate) struct ThreeStage<T: Element> {
    stages: [Kernel; 3],
    /// One partial for every 256 products.
    first: DeviceBuffer<T::Sum>,
    /// One partial for every 256 of those.
    second: DeviceBuffer<T::Sum>,
}

impl<T: Element> ThreeStage<T> {
    /// Elements whose partials fit without a call of [`reserve`](Self::reserve).
    const INITIAL_ELEMENTS: u64 = 1 << 20;

    pub(crate) fn new(stream: &Stream) -> Result<Self> {
        let sum = <T::Sum as Element>::NAME;
        let names = [format!("dot_stage1_{}", T::NAME), format!("dot_stage2_{sum}"), format!("dot_stage3_{sum}")];
        let stages = module::load(stream, PTX, [&names[0], &names[1], &names[2]])?;
        let mut plan = Self { stages, first: stream.alloc_uninit(0)?, second: stream.alloc_uninit(0)? };
        plan.reserve(Self::INITIAL_ELEMENTS)?;
        Ok(plan)
    }

    pub(crate) fn reserve(&mut self, n: u64) -> Result<()> {
        let (first, second) = partials(n);
        self.first.grow_uninit(first)?;
        self.second.grow_uninit(second)
    }

    pub(crate) fn start(&mut self, x: Slice<'_, T>, y: Slice<'_, T>, out: SliceMut<'_, T::Sum>) -> Result<()> {
        let n = x.len() as u64;
        let (count, sums) = partials(n);
        let [first, second, third] = configs(n)?;
        self.reserve(n)?;
        let [multiply, reduce, finish] = &self.stages;
        // SAFETY: x and y have n elements, and there is a partial for every 256 of them.
        unsafe { multiply.launch(first, (x, y, n, self.first.as_slice_mut()))? };
        // SAFETY: the first stage has left `count` partials, and there is one of the second for every 256 of them.
        unsafe { reduce.launch(second, (self.first.as_slice(), count, self.second.as_slice_mut()))? };
        // SAFETY: the second stage has left `sums` partials, and out has one element.
        unsafe { finish.launch(third, (self.second.as_slice(), sums, out)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels_common::error::Error;

    #[test]
    fn every_stage_covers_past_32_bits() {
        for n in [1u64, 255, 256, 257, 65_536, 65_537, (1 << 32) - 1, 1 << 32, (1 << 32) + 5, (1 << 36) + 1] {
            let ((first, second), configs) = (partials(n), configs(n).unwrap());
            assert!(first * 256 >= n && (first - 1) * 256 < n, "{n}");
            assert!(second * 256 >= first && (second - 1) * 256 < first, "{n}");
            assert!(configs[0].blocks() >= first && configs[1].blocks() >= second && configs[2].blocks() == 1, "{n}");
            // The square is no larger than it must be.
            for (config, needed) in [(configs[0], first), (configs[1], second)] {
                let side = u64::from(config.grid[0]);
                assert!((side - 1) * (side - 1) < needed && config.threads_per_block() == 256, "{n}");
            }
        }
        assert!(matches!(configs(u64::MAX), Err(Error::TooLarge { .. })));
    }
}
