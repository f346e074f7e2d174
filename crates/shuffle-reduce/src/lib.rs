//! Sums by warp shuffles, one atomic addition for each block.
//!
//! ```
//! use kernels_common::device::Device;
//! use kernels_common::sum::Sum;
//! use shuffle_reduce::{ShuffleReduce, Variant};
//!
//! let stream = Device::open("auto")?.stream()?;
//! let x = stream.upload(&[1.0f32, 2.0, 3.0])?;
//! let mut sum = ShuffleReduce::<f32>::new(&stream, Variant::GridStride)?;
//! assert_eq!(sum.sum(x.as_slice())?, 6.0);
//! # Ok::<(), kernels_common::error::Error>(())
//! ```
//!
//! The 32 lanes of a warp can read each other's registers. So a warp adds up its values in five rounds without shared
//! memory and without a barrier; the sums of the warps then meet in shared memory, behind the one barrier that is left,
//! and the first warp adds those up in the same way. See [`Variant`] for what else can be done.
//!
//! A block may have any number of threads. If that is no multiple of 32, its last warp has fewer lanes, and what a
//! shuffle reads from a lane that is not there is undefined. Such a warp names the lanes it has, and a lane whose
//! partner is missing keeps its value.
//!
//! The order of the additions inside a block is fixed, that of the blocks' additions to the result is left to chance:
//! floating-point sums can have other bits at every run. Integers do not mind.

use std::num::NonZeroU32;

use kernels_common::element::Element;
use kernels_common::error::{Error, Result};
use kernels_common::launch::LaunchConfig;
use kernels_common::module::{self, Kernel, Ptx};
use kernels_common::stream::Stream;
use kernels_common::sum::{Job, Sum};

/// The runtime whose types are in this crate's interface, for programs that name no version of it themselves.
pub use kernels_common;

const PTX: &[Ptx] = kernels_common::ptx!("shuffle-reduce");
/// Apart, because older devices do not even load it.
const REDUX_PTX: &[Ptx] = kernels_common::ptx!("redux");

/// Threads of a block, unless another number is asked for.
pub const DEFAULT_BLOCK: u32 = 256;

/// Lanes of a warp, in the kernels and on every NVIDIA GPU.
const WARP: u32 = 32;

/// How the lanes of a warp add up their values, and how many each brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// One element a thread; shuffles within the warps, then among the sums of the warps.
    Shuffle,
    /// The same, after each thread has added up many elements. The grid is as large as the device holds at once.
    GridStride,
    /// One element a thread; the warp's own reduction (`redux.sync`) within the warps. For `i32` and `u32`, on devices
    /// of compute capability 8.0 or later.
    Redux,
}

impl Variant {
    /// Every variant.
    pub const ALL: [Variant; 3] = [Variant::Shuffle, Variant::GridStride, Variant::Redux];

    /// Its name, such as `grid-stride`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Shuffle => "shuffle",
            Variant::GridStride => "grid-stride",
            Variant::Redux => "redux",
        }
    }

    /// Checks that it can add up elements of type `T`.
    ///
    /// # Errors
    /// [`Error::InvalidElement`] for [`Redux`](Variant::Redux), unless `T` is `i32` or `u32`.
    pub fn check_element<T: Element>(self) -> Result<()> {
        if self == Variant::Redux && (T::IS_FLOAT || size_of::<T>() != 4) {
            return Err(Error::InvalidElement { variant: self.name(), element: T::NAME, takes: "i32 and u32" });
        }
        Ok(())
    }

    const fn kernel(self) -> (&'static [Ptx], &'static str) {
        match self {
            Variant::Shuffle => (PTX, "shuffle"),
            Variant::GridStride => (PTX, "grid_stride"),
            Variant::Redux => (REDUX_PTX, "redux"),
        }
    }
}

kernels_common::named_variants!(Variant);

/// Sums of slices of one stream, by warp shuffles.
#[derive(Debug)]
pub struct ShuffleReduce<T> {
    variant: Variant,
    kernel: Kernel,
    block: u32,
    /// The most blocks of a grid whose threads take as many elements as there are; `None` if each takes one.
    most_blocks: Option<NonZeroU32>,
    element: std::marker::PhantomData<fn(T)>,
}

impl<T: Element> ShuffleReduce<T> {
    /// Sums by `variant`, with [`DEFAULT_BLOCK`] threads in a block.
    ///
    /// # Errors
    /// As [`with_block`](Self::with_block).
    pub fn new(stream: &Stream, variant: Variant) -> Result<Self> {
        Self::with_block(stream, variant, DEFAULT_BLOCK)
    }

    /// Sums by `variant`, with `block` threads in a block: any number that the device can launch.
    ///
    /// # Errors
    /// [`Error::InvalidElement`] if the variant cannot add up such elements; [`Error::NoVariant`] if the device cannot
    /// run it; [`Error::InvalidLaunch`] for more threads than the device can launch, or none; if the kernel cannot be
    /// loaded.
    pub fn with_block(stream: &Stream, variant: Variant, block: u32) -> Result<Self> {
        let mut sum = Self::load(stream, variant, block)?;
        if variant == Variant::GridStride {
            let resident = sum.kernel.resident_blocks(block, 0)?;
            sum.most_blocks = Some(NonZeroU32::new(resident).unwrap_or(NonZeroU32::MIN));
        }
        Ok(sum)
    }

    /// Sums by [`Variant::GridStride`], with no more than `grid` blocks of `block` threads.
    ///
    /// # Errors
    /// [`Error::InvalidLaunch`] for a grid or a block that the device cannot launch; if the kernel cannot be loaded.
    pub fn with_grid(stream: &Stream, grid: NonZeroU32, block: u32) -> Result<Self> {
        let mut sum = Self::load(stream, Variant::GridStride, block)?;
        sum.kernel.check(&LaunchConfig::linear(grid.get(), block))?;
        sum.most_blocks = Some(grid);
        Ok(sum)
    }

    fn load(stream: &Stream, variant: Variant, block: u32) -> Result<Self> {
        variant.check_element::<T>()?;
        let (ptx, name) = variant.kernel();
        let [kernel] = module::load(stream, ptx, [&format!("{name}_{}", T::NAME)])?;
        kernel.check(&LaunchConfig::linear(1, block))?;
        Ok(Self { variant, kernel, block, most_blocks: None, element: std::marker::PhantomData })
    }

    /// How it computes.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// The launch for `n` elements: a thread for each, or for [`Variant::GridStride`] no more than the device holds at
    /// once.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if a thread for each takes more than 2³¹ − 1 blocks.
    pub fn plan(&self, n: u64) -> Result<LaunchConfig> {
        match self.most_blocks {
            Some(most) => {
                let blocks = n.div_ceil(self.block.into()).min(most.get().into());
                Ok(LaunchConfig::linear(blocks as u32, self.block))
            }
            None => LaunchConfig::covering(n, self.block),
        }
    }
}

impl<T: Element> Sum<T> for ShuffleReduce<T> {
    fn name(&self) -> &'static str {
        self.variant.name()
    }

    fn is_reproducible(&self) -> bool {
        !T::IS_FLOAT
    }

    /// The additions of one thread, the first to zero among them; the rounds within a warp, and among the warps; then
    /// at worst the additions of all blocks.
    fn depth(&self, n: u64) -> u64 {
        let rounds = |values: u32| u64::from(values.next_power_of_two().ilog2());
        let block = u64::from(self.block);
        let blocks = self.most_blocks.map_or(u64::MAX, |most| most.get().into()).min(n.div_ceil(block)).max(1);
        let alone = n.div_ceil(blocks.saturating_mul(block));
        alone + rounds(self.block.min(WARP)) + rounds(self.block.div_ceil(WARP)) + blocks
    }

    fn stream(&self) -> &Stream {
        self.kernel.stream()
    }

    fn launch(&mut self, mut job: Job<'_, T>) -> Result<()> {
        let n = job.n();
        let config = self.plan(n)?;
        job.output().fill_zero()?;
        let (input, output) = job.parts();
        // SAFETY: the input has n elements and the output one. The grid has a thread for each element, or its threads
        // walk over all of them; what lies past the end is left out.
        unsafe { self.kernel.launch(config, (input, n, output)) }
    }
}
