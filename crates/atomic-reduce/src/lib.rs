//! Sums by atomic additions: the simplest that are right.
//!
//! ```
//! use atomic_reduce::{AtomicReduce, Variant};
//! use kernels_common::device::Device;
//! use kernels_common::sum::Sum;
//!
//! let stream = Device::open("auto")?.stream()?;
//! let x = stream.upload(&[1.0f32, 2.0, 3.0])?;
//! let mut sum = AtomicReduce::<f32>::new(&stream, Variant::WarpLeader)?;
//! assert_eq!(sum.sum(x.as_slice())?, 6.0);
//! # Ok::<(), kernels_common::error::Error>(())
//! ```
//!
//! Each thread of the grid stands for one element. Who adds to the result is the [`Variant`]: every thread, or one for
//! each warp, or one for each block. The fewer they are, the less they queue for the one address that they all add to;
//! and the fewer threads do any work.
//!
//! In which order the additions happen is left to chance. Floating-point sums can have other bits at every run, and an
//! `f32` that many small elements are added to one by one stops growing: at 2²⁴, one more is half of its last bit, and
//! is rounded away. Integers do not mind.
//!
//! What becomes of additions that are *not* atomic is shown by [`racy`].

pub mod racy;

use kernels_common::element::Element;
use kernels_common::error::Result;
use kernels_common::launch::LaunchConfig;
use kernels_common::module::{self, Kernel, Ptx};
use kernels_common::stream::Stream;
use kernels_common::sum::{Job, Sum};

/// The runtime whose types are in this crate's interface, for programs that name no version of it themselves.
pub use kernels_common;

const PTX: &[Ptx] = kernels_common::ptx!("atomic-reduce");

/// Threads of a block, unless another number is asked for.
pub const DEFAULT_BLOCK: u32 = 256;

/// Who adds to the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Every thread adds its element.
    PerElement,
    /// One thread of each warp adds the sum of the warp's elements.
    WarpLeader,
    /// One thread of each block adds the sum of the block's elements.
    BlockLeader,
}

impl Variant {
    /// Every variant, the one with the most atomic additions first.
    pub const ALL: [Variant; 3] = [Variant::PerElement, Variant::WarpLeader, Variant::BlockLeader];

    /// Its name, such as `warp-leader`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Variant::PerElement => "per-element",
            Variant::WarpLeader => "warp-leader",
            Variant::BlockLeader => "block-leader",
        }
    }

    const fn kernel(self) -> &'static str {
        match self {
            Variant::PerElement => "per_element",
            Variant::WarpLeader => "warp_leader",
            Variant::BlockLeader => "block_leader",
        }
    }
}

kernels_common::named_variants!(Variant);

/// Sums of slices of one stream, by atomic additions.
#[derive(Debug)]
pub struct AtomicReduce<T> {
    variant: Variant,
    kernel: Kernel,
    block: u32,
    element: std::marker::PhantomData<fn(T)>,
}

impl<T: Element> AtomicReduce<T> {
    /// Sums by `variant`, with [`DEFAULT_BLOCK`] threads in a block.
    ///
    /// # Errors
    /// If the kernel cannot be loaded (see [`module::load`]).
    pub fn new(stream: &Stream, variant: Variant) -> Result<Self> {
        Self::with_block(stream, variant, DEFAULT_BLOCK)
    }

    /// Sums by `variant`, with `block` threads in a block: any number that the device can launch.
    ///
    /// # Errors
    /// [`Error::InvalidLaunch`](kernels_common::error::Error::InvalidLaunch) for more threads than that, or none; if
    /// the kernel cannot be loaded.
    pub fn with_block(stream: &Stream, variant: Variant, block: u32) -> Result<Self> {
        let [kernel] = module::load(stream, PTX, [&format!("{}_{}", variant.kernel(), T::NAME)])?;
        kernel.check(&LaunchConfig::linear(1, block))?;
        Ok(Self { variant, kernel, block, element: std::marker::PhantomData })
    }

    /// How it computes.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// The launch for `n` elements: a thread for each.
    ///
    /// # Errors
    /// [`Error::TooLarge`](kernels_common::error::Error::TooLarge) if that takes more than 2³¹ − 1 blocks.
    pub fn plan(&self, n: u64) -> Result<LaunchConfig> {
        LaunchConfig::covering(n, self.block)
    }
}

impl<T: Element> Sum<T> for AtomicReduce<T> {
    fn name(&self) -> &'static str {
        self.variant.name()
    }

    fn is_reproducible(&self) -> bool {
        !T::IS_FLOAT
    }

    fn depth(&self, n: u64) -> u64 {
        let warp = self.stream().device().properties().warp_size;
        let alone = match self.variant {
            Variant::PerElement => 1,
            Variant::WarpLeader => u64::from(warp.min(self.block)),
            Variant::BlockLeader => self.block.into(),
        };
        // A leader's additions, then at worst all those to the result.
        alone.min(n).saturating_add(leaders(self.variant, n, self.block, warp))
    }

    fn stream(&self) -> &Stream {
        self.kernel.stream()
    }

    fn launch(&mut self, mut job: Job<'_, T>) -> Result<()> {
        let n = job.n();
        let config = self.plan(n)?;
        job.output().fill_zero()?;
        let (input, output) = job.parts();
        // SAFETY: the input has n elements, the output one; the grid has a thread for each element.
        unsafe { self.kernel.launch(config, (input, n, output)) }
    }
}

/// How many threads add to the result.
fn leaders(variant: Variant, n: u64, block: u32, warp: u32) -> u64 {
    let blocks = n.div_ceil(block.into());
    match variant {
        Variant::PerElement => n,
        Variant::WarpLeader => blocks * u64::from(block.div_ceil(warp)),
        Variant::BlockLeader => blocks,
    }
}
