//! Reductions in [canonical order](crate::order) by one launch: what their kernels need beside the input and the
//! output.

use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::LaunchConfig;
use crate::memory::{DeviceBuffer, Slice, SliceMut};
use crate::module::{self, Kernel, Ptx};
use crate::order;
use crate::stream::Stream;

/// A kernel whose blocks walk the virtual blocks, and whose last block to finish combines the partial results
/// (`reduce_virtual_blocks` and `finish_in_last_block` of `include/`), with its scratch memory.
///
/// There are two kernels, to the same bits: one that loads packets whole, and one that loads them lane by lane, for
/// slices that do not start at a multiple of 16 bytes. The driver compiles a kernel when it is loaded, which takes tens
/// of milliseconds; the second is loaded when it is needed.
#[derive(Debug)]
pub struct SingleLaunch<T: Element> {
    aligned: Kernel,
    misaligned: Option<Kernel>,
    variants: &'static [Ptx],
    name: String,
    /// One for each virtual block, up to a multiple of [`RUN`](Self::RUN).
    partials: DeviceBuffer<T::Sum>,
    /// Blocks that have finished; zero between launches.
    counter: DeviceBuffer<u32>,
}

/// What a launch is given beside the input and the output.
#[derive(Debug)]
pub struct Scratch<'a, S> {
    /// The binary logarithm of the number of elements of a virtual block.
    pub log2_v: u32,
    /// The number of virtual blocks, at least one.
    pub virtual_blocks: u32,
    /// Room for one partial result of each virtual block; written before, up to the next multiple of 8.
    pub partials: SliceMut<'a, S>,
    /// One counter, which is zero.
    pub counter: SliceMut<'a, u32>,
}

impl<T: Element> SingleLaunch<T> {
    /// Threads of a block: those that the canonical order is written for.
    const THREADS: u32 = order::THREADS as u32;
    /// Blocks that one multiprocessor holds at once: as many as the kernels' registers allow.
    const BLOCKS_PER_MULTIPROCESSOR: u32 = 2;
    /// The last block reads partial results in runs of so many, also past the last one.
    const RUN: u64 = 8;
    /// Virtual blocks that fit without [`reserve`](Self::reserve): those of 2²⁹ bytes.
    const INITIAL_PARTIALS: usize = 1024;

    /// The kernels `<name>_<type>` and `<name>_misaligned_<type>` of `variants`.
    ///
    /// # Errors
    /// If the first cannot be loaded (see [`module::load`]) or the scratch memory cannot be had.
    pub fn new(stream: &Stream, variants: &'static [Ptx], name: &str) -> Result<Self> {
        let [aligned] = module::load(stream, variants, [&format!("{name}_{}", T::NAME)])?;
        let partials = stream.alloc_zeros(Self::INITIAL_PARTIALS)?;
        let (misaligned, counter) = (None, stream.alloc_zeros(1)?);
        Ok(Self { aligned, misaligned, variants, name: name.to_owned(), partials, counter })
    }

    /// The stream that it works on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.aligned.stream()
    }

    /// Makes the scratch memory large enough for `n` elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn reserve(&mut self, n: u64) -> Result<()> {
        self.partials.grow_zeros(order::virtual_blocks::<T>(n).next_multiple_of(Self::RUN))
    }

    /// The launch for `n` elements, of any number: no more blocks than are resident at once, and each with equally many
    /// virtual blocks to walk (all but one of them), so that none ends long after the others. One block for no
    /// elements.
    ///
    /// Where there are no more blocks than multiprocessors the launch is [`overlapping`](LaunchConfig::overlapping):
    /// what it takes to launch shows then, and the blocks of the next launch find room beside these.
    #[must_use]
    pub fn plan(&self, n: u64) -> LaunchConfig {
        let multiprocessors = self.stream().device().properties().multiprocessors;
        let blocks = real_blocks(order::virtual_blocks::<T>(n), multiprocessors, Self::BLOCKS_PER_MULTIPROCESSOR);
        let config = LaunchConfig::linear(blocks, Self::THREADS);
        if blocks <= multiprocessors { config.overlapping() } else { config }
    }

    /// Has `launch` launch the kernel for `inputs`, slices of `n` elements each. The scratch memory that it gets is
    /// large enough, and in the state that the kernel expects: each launch leaves it so, and touches it only when the
    /// launches before it on the stream are done.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve), and those of `launch`; [`Error::TooLarge`] for more virtual blocks than 32 bits
    /// count; for the first misaligned slice, if the kernel cannot be
    /// loaded.
    pub fn run<const N: usize>(
        &mut self,
        inputs: [Slice<'_, T>; N],
        n: u64,
        launch: impl FnOnce(&Kernel, LaunchConfig, Scratch<'_, T::Sum>) -> Result<()>,
    ) -> Result<()> {
        let virtual_blocks = order::virtual_blocks::<T>(n).max(1);
        let virtual_blocks = u32::try_from(virtual_blocks).map_err(|_| Error::TooLarge {
            what: "the number of virtual blocks",
            asked: virtual_blocks,
            maximum: u32::MAX.into(),
        })?;
        self.reserve(n)?;
        let config = self.plan(n);
        let kernel = if inputs.iter().all(|input| input.address().is_multiple_of(order::PACKET)) {
            &self.aligned
        } else {
            let kernel = match self.misaligned.take() {
                Some(loaded) => loaded,
                None => {
                    let name = format!("{}_misaligned_{}", self.name, T::NAME);
                    let [kernel] = module::load(self.aligned.stream(), self.variants, [&name])?;
                    kernel
                }
            };
            self.misaligned.insert(kernel)
        };
        self.counter.as_slice_mut().keep_zero_in_graph()?;
        let scratch = Scratch {
            log2_v: order::virtual_block::<T>(n).ilog2(),
            virtual_blocks,
            partials: self.partials.as_slice_mut(),
            counter: self.counter.as_slice_mut(),
        };
        let launched = launch(kernel, config, scratch);
        if launched.is_err() {
            // A fault on the simulator stops a launch after some of its blocks have counted themselves. The error to
            // report is that of the launch.
            let _ = self.counter.as_slice_mut().fill_zero();
        }
        launched
    }
}

/// How many real blocks walk so many virtual ones, on so many multiprocessors that hold `per_multiprocessor` each.
fn real_blocks(virtual_blocks: u64, multiprocessors: u32, per_multiprocessor: u32) -> u32 {
    let resident = u64::from(multiprocessors.max(1)) * u64::from(per_multiprocessor);
    if virtual_blocks <= resident {
        return virtual_blocks.max(1) as u32;
    }
    let rounds = virtual_blocks.div_ceil(resident);
    virtual_blocks.div_ceil(rounds) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_virtual_block_is_walked_past_32_bits() {
        for multiprocessors in [1, 7, 132] {
            let resident = 2 * u64::from(multiprocessors);
            for n in [1u64, 4097, (1 << 32) - 1, 1 << 32, (1 << 32) + 5, (1 << 40) + 1, u64::MAX] {
                let virtual_blocks = order::virtual_blocks::<f32>(n);
                let blocks = u64::from(real_blocks(virtual_blocks, multiprocessors, 2));
                let context = format!("{n} on {multiprocessors} multiprocessors: {blocks}");
                assert!(blocks >= 1 && blocks <= resident.min(virtual_blocks), "{context}");
                // No block has a round more to walk than it must.
                assert_eq!(virtual_blocks.div_ceil(blocks), virtual_blocks.div_ceil(resident), "{context}");
                assert!(order::virtual_block::<f32>(n).ilog2() < 32, "{context}");
            }
        }
        assert_eq!(real_blocks(0, 132, 2), 1);
    }
}
