//! Reductions in [canonical order](crate::order) by one launch: what their kernels need beside the input and the
//! output.

use crate::device::Properties;
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
/// There are two kernels, to the same bits: one that loads packets whole, and one that puts each together from two, for
/// slices that do not start at a multiple of 16 bytes. [`with_bulk`](Self::with_bulk) adds a third, for large slices.
/// The driver compiles a kernel when it is loaded, which takes tens of milliseconds; all but the first are loaded when
/// they are needed.
#[derive(Debug)]
pub struct SingleLaunch<T: Element> {
    aligned: Kernel,
    misaligned: LateKernel,
    bulk: Option<Bulk>,
    name: String,
    /// One for each virtual block, up to a multiple of [`RUN`](Self::RUN).
    partials: DeviceBuffer<T::Sum>,
    /// Blocks that have finished; zero between launches.
    counter: DeviceBuffer<u32>,
}

/// A kernel that is loaded when it is first needed.
#[derive(Debug)]
struct LateKernel {
    variants: &'static [Ptx],
    name: String,
    loaded: Option<Kernel>,
}

impl LateKernel {
    fn new(variants: &'static [Ptx], name: String) -> Self {
        Self { variants, name, loaded: None }
    }

    fn get(&mut self, stream: &Stream) -> Result<&Kernel> {
        let kernel = match self.loaded.take() {
            Some(kernel) => kernel,
            None => {
                let [kernel] = module::load(stream, self.variants, [&self.name])?;
                kernel
            }
        };
        Ok(self.loaded.insert(kernel))
    }
}

/// The kernel that takes its input in by bulk copies (`reduce_virtual_blocks_in_bulk` of `include/`).
#[derive(Debug)]
struct Bulk {
    kernel: LateKernel,
    /// The bytes of a slice from which on it is used.
    from: u64,
}

impl Bulk {
    /// The least compute capability that has such copies.
    const CAPABILITY: (u32, u32) = (9, 0);
    /// Blocks that one multiprocessor holds at once: one has most of its shared memory.
    const BLOCKS_PER_MULTIPROCESSOR: u32 = 1;
    /// Dynamic shared memory of a block: `BULK_STAGES` stages of `BULK_ROWS` rows, as `canonical_bulk.cuh` has them.
    const SHARED_BYTES: u32 = 6 * 4 * (order::THREADS * order::PACKET) as u32;
    /// Room for what the kernel has in shared memory beside them.
    const OTHER_SHARED_BYTES: u32 = 1 << 10;

    /// Whether a device can run such kernels.
    fn runs_on(device: &Properties) -> bool {
        let room = Self::SHARED_BYTES + Self::OTHER_SHARED_BYTES;
        device.capability >= Self::CAPABILITY && device.shared_per_block_optin >= room
    }
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
    /// The bytes of a slice up to which launches overlap. On an H200 the kernel that copies in bulk gains 7.4 % from it
    /// for 64 MiB of `f32`, 4.0 % for 128 MiB and 1.0 % for 256 MiB, and loses 0.3 to 1.3 % from 512 MiB to 2 GiB
    /// (`docs/single-pass.md`). The others have more blocks than multiprocessors long before.
    const OVERLAPPING_TO: u64 = 256 << 20;
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
        let misaligned = LateKernel::new(variants, format!("{name}_misaligned_{}", T::NAME));
        let partials = stream.alloc_zeros(Self::INITIAL_PARTIALS)?;
        let counter = stream.alloc_zeros(1)?;
        Ok(Self { aligned, misaligned, bulk: None, name: name.to_owned(), partials, counter })
    }

    /// With the kernel `<name>_bulk_<type>` of `variants`, which takes its input in by bulk copies through shared
    /// memory, for slices of `from` bytes or more that start at a multiple of 16 bytes. It is left alone where the
    /// device cannot run it: before compute capability 9.0, or with less shared memory than its stages need.
    #[must_use]
    pub fn with_bulk(mut self, variants: &'static [Ptx], from: u64) -> Self {
        if Bulk::runs_on(self.stream().device().properties()) {
            let kernel = LateKernel::new(variants, format!("{}_bulk_{}", self.name, T::NAME));
            self.bulk = Some(Bulk { kernel, from });
        }
        self
    }

    /// The stream that it works on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.aligned.stream()
    }

    /// Makes ready for slices of `n` elements that start at a multiple of 16 bytes: the scratch memory becomes large
    /// enough, and the kernel for such slices is loaded.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; if the kernel cannot be loaded.
    pub fn reserve(&mut self, n: u64) -> Result<()> {
        self.grow(n)?;
        if let Some(bulk) = self.bulk.as_mut().filter(|bulk| bytes::<T>(n) >= bulk.from) {
            bulk.kernel.get(self.aligned.stream())?;
        }
        Ok(())
    }

    fn grow(&mut self, n: u64) -> Result<()> {
        self.partials.grow_zeros(order::virtual_blocks::<T>(n).next_multiple_of(Self::RUN))
    }

    /// The launch for `n` elements, of any number, that start at a multiple of 16 bytes: no more blocks than are
    /// resident at once, and each with equally many virtual blocks to walk (all but one of them), so that none ends long
    /// after the others. One block for no elements.
    ///
    /// Where there are no more blocks than multiprocessors, for up to 256 MiB, the launch is
    /// [`overlapping`](LaunchConfig::overlapping): what it takes to launch shows then, and the blocks of the next launch
    /// find room beside these.
    #[must_use]
    pub fn plan(&self, n: u64) -> LaunchConfig {
        self.config(n, self.takes_in_bulk(n))
    }

    /// Whether `n` elements that start at a multiple of 16 bytes are taken in by bulk copies.
    fn takes_in_bulk(&self, n: u64) -> bool {
        self.bulk.as_ref().is_some_and(|bulk| bytes::<T>(n) >= bulk.from)
    }

    fn config(&self, n: u64, in_bulk: bool) -> LaunchConfig {
        let multiprocessors = self.stream().device().properties().multiprocessors;
        let (resident, shared_bytes) = match in_bulk {
            true => (Bulk::BLOCKS_PER_MULTIPROCESSOR, Bulk::SHARED_BYTES),
            false => (Self::BLOCKS_PER_MULTIPROCESSOR, 0),
        };
        let blocks = real_blocks(order::virtual_blocks::<T>(n), multiprocessors, resident);
        let config = LaunchConfig { shared_bytes, ..LaunchConfig::linear(blocks, Self::THREADS) };
        let overlaps = blocks <= multiprocessors && bytes::<T>(n) <= Self::OVERLAPPING_TO;
        if overlaps { config.overlapping() } else { config }
    }

    /// Has `launch` launch the kernel for `inputs`, slices of `n` elements each. The scratch memory that it gets is
    /// large enough, and in the state that the kernel expects: each launch leaves it so, and touches it only when the
    /// launches before it on the stream are done.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve), and those of `launch`; [`Error::TooLarge`] for more virtual blocks than 32 bits
    /// count; for the first slice that needs another kernel, if it
    /// cannot be loaded.
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
        self.grow(n)?;
        let is_aligned = inputs.iter().all(|input| input.address().is_multiple_of(order::PACKET));
        let in_bulk = is_aligned && self.takes_in_bulk(n);
        let config = self.config(n, in_bulk);
        let stream = self.aligned.stream();
        let kernel = match &mut self.bulk {
            Some(bulk) if in_bulk => bulk.kernel.get(stream)?,
            _ if is_aligned => &self.aligned,
            _ => self.misaligned.get(stream)?,
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

/// The size in bytes of a slice; more than there can be for more elements than there can be.
fn bytes<T>(n: u64) -> u64 {
    n.saturating_mul(size_of::<T>() as u64)
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

    #[test]
    fn what_a_device_can_do_tells_whether_it_copies_in_bulk() {
        let mut device = crate::device::Device::list().remove(0);
        for (capability, shared_kib, expected) in [
            ((9, 0), 227, true),
            ((10, 0), 227, true),
            ((12, 0), 99, false),
            ((8, 0), 227, false),
            ((9, 0), 192, false),
        ] {
            device.capability = capability;
            device.shared_per_block_optin = shared_kib << 10;
            assert_eq!(Bulk::runs_on(&device), expected, "{capability:?} with {shared_kib} KiB");
        }
    }
}
