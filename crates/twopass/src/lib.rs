//! Sums in two launches: one leaves a partial sum of each block, the other, a single block, adds them up.
//!
//! ```
//! use kernels_common::device::Device;
//! use kernels_common::sum::Sum;
//! use twopass::{TwoPass, Variant};
//!
//! let stream = Device::open("auto")?.stream()?;
//! let x = stream.upload(&[1.0f32, 2.0, 3.0])?;
//! let mut sum = TwoPass::<f32>::new(&stream, Variant::GridStride)?;
//! assert_eq!(sum.sum(x.as_slice())?, 6.0);
//! # Ok::<(), kernels_common::error::Error>(())
//! ```
//!
//! Blocks of one launch cannot wait for each other: those that run may keep the others from starting. But launches on
//! one stream follow each other, so the end of a launch is a barrier for its whole grid. What every block of the first
//! launch wrote, any thread of the second may read.
//!
//! How many blocks there are depends on the number of elements alone, and no addition waits for chance: the order of
//! the additions is the same on every device and at every run, and so are the bits. (They are not those of the
//! [canonical order](kernels_common::order), which is another.)
//!
//! The [`Variant`] is how many partials the first launch leaves: one for every 256 elements, or no more than 1024.

use kernels_common::element::Element;
use kernels_common::error::Result;
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::DeviceBuffer;
use kernels_common::module::{self, Kernel, Ptx};
use kernels_common::stream::Stream;
use kernels_common::sum::{Job, Sum};

/// The runtime whose types are in this crate's interface, for programs that name no version of it themselves.
pub use kernels_common;

const PTX: &[Ptx] = kernels_common::ptx!("twopass");

/// Threads of a block of the first launch.
const THREADS: u32 = 256;
/// Threads of the one block of the second.
const FINISH_THREADS: u32 = 1024;
/// Most blocks of [`Variant::GridStride`]: as many threads as 128 multiprocessors of 2048 threads hold, and one partial
/// for each thread of the second launch. Not asked of the device, because the order of the additions would depend on
/// it.
const MOST_BLOCKS: u64 = 1024;

/// How many partials the first launch leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// One for every 256 elements: a thread for each element. The second launch has more to do the more elements there
    /// are.
    OneElement,
    /// At most 1024: each thread walks through the elements in strides of the whole grid, and the second launch is
    /// short whatever the number of elements.
    GridStride,
}

impl Variant {
    /// Every variant, the one with the most partials first.
    pub const ALL: [Variant; 2] = [Variant::OneElement, Variant::GridStride];

    /// Its name, such as `grid-stride`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Variant::OneElement => "one-element",
            Variant::GridStride => "grid-stride",
        }
    }

    /// How many partials the first launch leaves for `n` elements: as many as it has blocks.
    #[must_use]
    pub const fn partials(self, n: u64) -> u64 {
        let blocks = n.div_ceil(THREADS as u64);
        match self {
            Variant::GridStride if blocks > MOST_BLOCKS => MOST_BLOCKS,
            Variant::OneElement | Variant::GridStride => blocks,
        }
    }
}

kernels_common::named_variants!(Variant);

/// Sums of slices of one stream, in two launches. Owns the memory of the partials, so that a call allocates nothing.
#[derive(Debug)]
pub struct TwoPass<T: Element> {
    variant: Variant,
    first: Kernel,
    finish: Kernel,
    partials: DeviceBuffer<T::Sum>,
}

impl<T: Element> TwoPass<T> {
    /// Partials that there is room for from the start: of [`Variant::OneElement`], those of 2²⁰ elements.
    const INITIAL_PARTIALS: usize = 4096;

    /// Sums by `variant`.
    ///
    /// # Errors
    /// If the kernels cannot be loaded (see [`module::load`]) or the memory of the partials cannot be had.
    pub fn new(stream: &Stream, variant: Variant) -> Result<Self> {
        let names = [format!("twopass_partials_{}", T::NAME), format!("twopass_finish_{}", <T::Sum as Element>::NAME)];
        let [first, finish] = module::load(stream, PTX, [&names[0], &names[1]])?;
        Ok(Self { variant, first, finish, partials: stream.alloc_uninit(Self::INITIAL_PARTIALS)? })
    }

    /// How it computes.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// The two launches for `n` elements. The grid of the first has one block for each partial.
    ///
    /// # Errors
    /// [`Error::TooLarge`](kernels_common::error::Error::TooLarge) if that takes more than 2³¹ − 1 blocks.
    pub fn plan(&self, n: u64) -> Result<[LaunchConfig; 2]> {
        let blocks = LaunchConfig::covering(self.variant.partials(n), 1)?;
        Ok([LaunchConfig { block: [THREADS, 1, 1], ..blocks }, LaunchConfig::linear(1, FINISH_THREADS)])
    }
}

impl<T: Element> Sum<T> for TwoPass<T> {
    fn name(&self) -> &'static str {
        self.variant.name()
    }

    fn is_reproducible(&self) -> bool {
        true
    }

    fn depth(&self, n: u64) -> u64 {
        // What a thread adds to its sum, which starts at zero, and the tree of its block: once for elements, once for
        // partials.
        let partials = self.variant.partials(n);
        let pass = |values: u64, threads: u64, block: u32| values.div_ceil(threads.max(1)) + u64::from(block.ilog2());
        pass(n, partials.saturating_mul(THREADS.into()), THREADS)
            + pass(partials, FINISH_THREADS.into(), FINISH_THREADS)
    }

    fn stream(&self) -> &Stream {
        self.first.stream()
    }

    fn reserve(&mut self, n: usize) -> Result<()> {
        self.partials.grow_uninit(self.variant.partials(n as u64))
    }

    fn launch(&mut self, mut job: Job<'_, T>) -> Result<()> {
        let n = job.n();
        let [first, finish] = self.plan(n)?;
        let count = first.blocks();
        self.partials.grow_uninit(count)?;
        let (input, output) = job.parts();
        // SAFETY: the input has n elements, and there is a partial for every block.
        unsafe { self.first.launch(first, (input, n, self.partials.as_slice_mut()))? };
        // SAFETY: the first launch leaves `count` partials, and the output has one element.
        unsafe { self.finish.launch(finish, (self.partials.as_slice(), count, output)) }
    }
}
