//! Element-wise vector addition on a GPU or on the simulator, for every element type:
//! z\[i\] = x\[i\] + y\[i\], and the three-term form z\[i\] = (x\[i\] + y\[i\]) + z\[i\].
//!
//! ```
//! use kernels_common::device::Device;
//! use vecadd::VecAdd;
//!
//! let stream = Device::open("auto")?.stream()?;
//! let x = stream.upload(&[1.0f32, 2.0, 3.0])?;
//! let y = stream.upload(&[10.0f32, 20.0, 30.0])?;
//! let mut z = stream.alloc_zeros::<f32>(3)?;
//! let add = VecAdd::<f32>::new(&stream)?;
//! add.add(&x, &y, &mut z)?;
//! assert_eq!(z.download()?, [11.0, 22.0, 33.0]);
//! add.accumulate(&x, &y, &mut z)?;
//! assert_eq!(z.download()?, [22.0, 44.0, 66.0]);
//! # Ok::<(), kernels_common::error::Error>(())
//! ```
//!
//! Addition moves three values for one operation: it is as fast as the memory. The [`Variant`]s show how to get there.
//! One element a thread asks for each value with an instruction of its own; packets of 16 bytes ask for four `f32` at
//! once and come closest to the speed of a plain copy. Where a vector is small, the time goes into launches: those of
//! packets overlap on GPUs of compute capability 9.0 and later ([`LaunchConfig::overlapping`]).
//!
//! Halves are added in `f32` and rounded once at the end; integers wrap around. A NaN among the summands makes the sum
//! NaN, with bits that are up to the device. The sum of negative zeros is −0.

use std::marker::PhantomData;

use kernels_common::element::Element;
use kernels_common::error::Result;
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::{Slice, SliceMut};
use kernels_common::module::{self, Kernel, Ptx};
use kernels_common::stream::Stream;

/// The runtime whose types are in this crate's interface, for programs that name no version of it themselves.
pub use kernels_common;

/// The PTX of all kernels of this crate, for programs that launch one themselves.
pub const PTX: &[Ptx] = kernels_common::ptx!("vecadd");

/// A way to divide a vector among threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Variant {
    /// One element a thread, blocks in one dimension.
    Grid1d,
    /// One element a thread, blocks in a square: how more than 65535 blocks were launched before 2012.
    Grid2d,
    /// A fixed number of threads, each taking one element in every so many.
    Stride,
    /// One packet of 16 bytes a thread.
    #[default]
    Packets,
}

impl Variant {
    /// Every variant.
    pub const ALL: [Variant; 4] = [Variant::Grid1d, Variant::Grid2d, Variant::Stride, Variant::Packets];

    /// Its name, such as `grid-1d`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Grid1d => "grid-1d",
            Variant::Grid2d => "grid-2d",
            Variant::Stride => "stride",
            Variant::Packets => "packets",
        }
    }

    /// The part of the kernels' names that tells this variant.
    const fn kernel_name(self) -> &'static str {
        match self {
            Variant::Grid1d => "grid1d",
            Variant::Grid2d => "grid2d",
            Variant::Stride => "stride",
            Variant::Packets => "packets",
        }
    }

    /// The shape of a launch over `n` elements of `size` bytes on a device with so many multiprocessors.
    fn config(self, n: u64, size: u64, multiprocessors: u32) -> Result<LaunchConfig> {
        match self {
            Variant::Grid1d => LaunchConfig::covering(n, 256),
            Variant::Grid2d => LaunchConfig::covering_square(n, 256),
            Variant::Stride => {
                // Eight blocks of 256 threads fill a multiprocessor, or do so twice on the smaller ones.
                let blocks = n.div_ceil(256).min(8 * u64::from(multiprocessors));
                LaunchConfig::covering(blocks * 256, 256)
            }
            Variant::Packets => {
                let packets = n.div_ceil(16 / size);
                let block = if packets <= SMALL / 16 { SMALL_BLOCK } else { LARGE_BLOCK };
                let config = LaunchConfig::covering(packets, block)?;
                Ok(if packets <= OVERLAPPING / 16 { config.overlapping() } else { config })
            }
        }
    }
}

/// The threads of a block of [`Variant::Packets`], for vectors that are not small: as many as there can be, so that the
/// fewest blocks have to be started.
const LARGE_BLOCK: u32 = 1024;

/// The same for small vectors, which take no longer than their blocks take to start. One of few threads is complete, and
/// at work, sooner, and eight times as many of them spread over more multiprocessors.
const SMALL_BLOCK: u32 = 128;

/// The most bytes of a small vector.
const SMALL: u64 = 1 << 20;

/// The most bytes of a vector of [`Variant::Packets`] for which launches overlap: up to here it was measured to be
/// faster.
const OVERLAPPING: u64 = 8 << 20;

kernels_common::named_variants!(Variant);

/// Vector addition on one stream.
#[derive(Debug)]
pub struct VecAdd<T: Element> {
    variant: Variant,
    add: Kernel,
    accumulate: Kernel,
    element: PhantomData<T>,
}

impl<T: Element> VecAdd<T> {
    /// Addition by the default variant.
    ///
    /// # Errors
    /// If the kernels cannot be loaded, see [`module::load`].
    pub fn new(stream: &Stream) -> Result<Self> {
        Self::with_variant(stream, Variant::default())
    }

    /// Addition by `variant`.
    ///
    /// # Errors
    /// As [`VecAdd::new`].
    pub fn with_variant(stream: &Stream, variant: Variant) -> Result<Self> {
        let name = |operation| format!("{operation}_{}_{}", variant.kernel_name(), T::NAME);
        let [add, accumulate] = module::load(stream, PTX, [&name("vecadd"), &name("accumulate")])?;
        Ok(Self { variant, add, accumulate, element: PhantomData })
    }

    /// How the vector is divided among threads.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// The stream that it works on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.add.stream()
    }

    /// Starts computing z = x + y, and returns.
    ///
    /// # Errors
    /// [`LengthMismatch`](kernels_common::error::Error::LengthMismatch) unless all three have equal lengths;
    /// [`StreamMismatch`](kernels_common::error::Error::StreamMismatch);
    /// [`TooLarge`](kernels_common::error::Error::TooLarge) if the variant cannot launch a thread for every element.
    pub fn add<'a>(
        &self,
        x: impl Into<Slice<'a, T>>,
        y: impl Into<Slice<'a, T>>,
        z: impl Into<SliceMut<'a, T>>,
    ) -> Result<()> {
        self.start(&self.add, x.into(), y.into(), z.into())
    }

    /// Starts computing z = (x + y) + z, and returns. Halves are rounded once, after both additions.
    ///
    /// # Errors
    /// As [`VecAdd::add`].
    pub fn accumulate<'a>(
        &self,
        x: impl Into<Slice<'a, T>>,
        y: impl Into<Slice<'a, T>>,
        z: impl Into<SliceMut<'a, T>>,
    ) -> Result<()> {
        self.start(&self.accumulate, x.into(), y.into(), z.into())
    }

    fn start(&self, kernel: &Kernel, x: Slice<'_, T>, y: Slice<'_, T>, z: SliceMut<'_, T>) -> Result<()> {
        x.check(self.stream(), "x")?;
        y.check(self.stream(), "y")?;
        z.check(self.stream(), "z")?;
        y.check_len(x.len(), "y")?;
        z.check_len(x.len(), "z")?;
        let n = x.len() as u64;
        let multiprocessors = self.stream().device().properties().multiprocessors;
        let config = self.variant.config(n, size_of::<T>() as u64, multiprocessors)?;
        // SAFETY: all three have n elements, and no thread touches one past them; a unique borrow does not overlap
        // others. Kernels whose launches overlap wait before they touch memory.
        unsafe { kernel.launch(config, (x, y, z, n)) }
    }
}

/// z = x + y on the host, in the plainest way: what the kernels' results are compared and timed with. Goes over the
/// shortest of the three.
pub fn add_on_host<T: Element>(x: &[T], y: &[T], z: &mut [T]) {
    for ((&x, &y), z) in x.iter().zip(y).zip(z) {
        *z = T::add(x, y);
    }
}

/// z = (x + y) + z on the host, in the plainest way. Goes over the shortest of the three.
pub fn accumulate_on_host<T: Element>(x: &[T], y: &[T], z: &mut [T]) {
    use kernels_common::element::Accumulator;
    for ((&x, &y), z) in x.iter().zip(y).zip(z) {
        *z = T::narrow(x.widen().add(y.widen()).add(z.widen()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels_common::error::Error;

    #[test]
    fn every_shape_covers_past_32_bits() {
        for n in [1u64, 255, 256, 257, (1 << 32) - 1, 1 << 32, (1 << 32) + 5, (1 << 36) + 1] {
            for variant in Variant::ALL {
                let config = variant.config(n, 4, 132).unwrap();
                let threads = config.blocks() * config.threads_per_block();
                assert!(config.blocks() > 0 && config.grid[0] <= 0x7fff_ffff && config.grid[1] <= 65_535);
                let per_thread = match variant {
                    Variant::Stride => n.div_ceil(threads),
                    Variant::Packets => 4,
                    Variant::Grid1d | Variant::Grid2d => 1,
                };
                assert!(threads * per_thread >= n, "{variant} {n}");
            }
        }
        for variant in Variant::ALL {
            assert_eq!(variant.config(0, 4, 132).unwrap().blocks(), 0, "{variant}");
            // Strides of a grid of any size end somewhere; the others need a thread for each element or packet.
            let largest = variant.config(u64::MAX, 2, 132);
            match variant {
                Variant::Stride => assert_eq!(largest.unwrap().blocks(), 8 * 132),
                _ => assert!(matches!(largest, Err(Error::TooLarge { .. })), "{variant}"),
            }
        }
    }

    #[test]
    fn no_shape_has_a_block_too_many() {
        for size in [2u64, 4, 8] {
            let packet = 16 / size;
            // One MiB and eight of them, in packets.
            let (small, overlapping) = (1 << 16, 1 << 19);
            for (packets, blocks, block) in [
                (1, 1, 128),
                (127, 1, 128),
                (128, 1, 128),
                (129, 2, 128),
                (256, 2, 128),
                (257, 3, 128),
                (small - 1, 512, 128),
                (small, 512, 128),
                (small + 1, 65, 1024),
                (2 * small, 128, 1024),
                (2 * small + 1, 129, 1024),
                (overlapping - 1, 512, 1024),
                (overlapping, 512, 1024),
                (overlapping + 1, 513, 1024),
                (2 * overlapping, 1024, 1024),
            ] {
                for n in [packets * packet, packets * packet - packet + 1] {
                    let config = Variant::Packets.config(n, size, 132).unwrap();
                    assert_eq!((config.grid, config.block), ([blocks, 1, 1], [block, 1, 1]), "{n} of {size} bytes");
                    assert_eq!(config.overlapping, packets <= overlapping, "{n} of {size} bytes");
                }
            }
            for (n, blocks) in [(1, 1), (255, 1), (256, 1), (257, 2), (1024, 4), (1025, 5)] {
                assert_eq!(Variant::Grid1d.config(n, size, 132).unwrap().grid, [blocks, 1, 1]);
                assert_eq!(Variant::Stride.config(n, size, 132).unwrap().grid, [blocks, 1, 1]);
                let side = Variant::Grid2d.config(n, size, 132).unwrap().grid[0];
                assert!(side * side >= blocks && (side - 1) * (side - 1) < blocks);
                // Their kernels do not wait for the launch before.
                for variant in [Variant::Grid1d, Variant::Grid2d, Variant::Stride] {
                    assert!(!variant.config(n, size, 132).unwrap().overlapping, "{variant} {n}");
                }
            }
        }
    }
}
