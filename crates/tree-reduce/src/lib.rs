//! Sums by trees in shared memory, one atomic addition for each block.
//!
//! ```
//! use kernels_common::device::Device;
//! use kernels_common::sum::Sum;
//! use tree_reduce::{TreeReduce, Variant};
//!
//! let stream = Device::open("auto")?.stream()?;
//! let x = stream.upload(&[1.0f32, 2.0, 3.0])?;
//! let mut sum = TreeReduce::<f32>::new(&stream, Variant::Unrolled)?;
//! assert_eq!(sum.sum(x.as_slice())?, 6.0);
//! # Ok::<(), kernels_common::error::Error>(())
//! ```
//!
//! The threads of a block put their elements into shared memory and add them up pair by pair, so that 256 elements take
//! eight rounds. Which pairs, by which threads, with how many barriers: that is the [`Variant`]. Each is a step from
//! the one before, and all of them give the same sum.
//!
//! The order of the additions inside a block is fixed, that of the blocks' additions to the result is left to chance:
//! floating-point sums can have other bits at every run. Integers do not mind.

use kernels_common::element::Element;
use kernels_common::error::{Error, Result};
use kernels_common::launch::LaunchConfig;
use kernels_common::module::{self, Kernel, Ptx};
use kernels_common::stream::Stream;
use kernels_common::sum::{Job, Sum};

/// The runtime whose types are in this crate's interface, for programs that name no version of it themselves.
pub use kernels_common;

const PTX: &[Ptx] = kernels_common::ptx!("tree-reduce");

/// Threads of a block, unless another number is asked for.
pub const DEFAULT_BLOCK: u32 = 256;

/// A tree over the values of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Every second thread takes in its neighbour, then every fourth, and so on: few lanes of each warp are at work.
    Interleaved,
    /// The same additions by the first threads: whole warps, but bank conflicts.
    Strided,
    /// The first half of the threads takes in the second, then the first quarter the second: no conflicts.
    Sequential,
    /// The first thread takes in the last, the second the last but one: no conflicts either, and any number of threads.
    Mirrored,
    /// As [`Sequential`](Variant::Sequential), with two elements a thread, which are added when they are loaded.
    FirstAdd,
    /// As [`FirstAdd`](Variant::FirstAdd), with the rounds of the last warp written out and free of barriers of the
    /// block.
    UnrolledWarp,
    /// As [`UnrolledWarp`](Variant::UnrolledWarp), with every round written out for a number of threads known to the
    /// compiler.
    Unrolled,
}

impl Variant {
    /// Every variant, each a step from the one before.
    pub const ALL: [Variant; 7] = [
        Variant::Interleaved,
        Variant::Strided,
        Variant::Sequential,
        Variant::Mirrored,
        Variant::FirstAdd,
        Variant::UnrolledWarp,
        Variant::Unrolled,
    ];

    /// Its name, such as `first-add`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Interleaved => "interleaved",
            Variant::Strided => "strided",
            Variant::Sequential => "sequential",
            Variant::Mirrored => "mirrored",
            Variant::FirstAdd => "first-add",
            Variant::UnrolledWarp => "unrolled-warp",
            Variant::Unrolled => "unrolled",
        }
    }

    /// Checks that it can run with `block` threads in a block. Limits of the device are another matter.
    ///
    /// # Errors
    /// [`Error::InvalidBlock`] for [`UnrolledWarp`](Variant::UnrolledWarp) unless there are 64 threads or more, which
    /// is where a last warp is left over from others; for [`Unrolled`](Variant::Unrolled) unless their number is a
    /// power of two from 1 to 1024.
    pub const fn check_block(self, block: u32) -> Result<()> {
        let takes = match self {
            Variant::UnrolledWarp if block < 64 => "64 threads or more",
            Variant::Unrolled if !block.is_power_of_two() || block > 1024 => "powers of two from 1 to 1024",
            _ => return Ok(()),
        };
        Err(Error::InvalidBlock { variant: self.name(), block, takes })
    }

    /// Elements that one thread loads.
    #[must_use]
    pub const fn elements_per_thread(self) -> u32 {
        match self {
            Variant::Interleaved | Variant::Strided | Variant::Sequential | Variant::Mirrored => 1,
            Variant::FirstAdd | Variant::UnrolledWarp | Variant::Unrolled => 2,
        }
    }

    fn kernel(self, block: u32) -> String {
        match self {
            Variant::Interleaved => "tree_interleaved".to_owned(),
            Variant::Strided => "tree_strided".to_owned(),
            Variant::Sequential => "tree_sequential".to_owned(),
            Variant::Mirrored => "tree_mirrored".to_owned(),
            Variant::FirstAdd => "tree_first_add".to_owned(),
            Variant::UnrolledWarp => "tree_unrolled_warp".to_owned(),
            Variant::Unrolled => format!("tree_unrolled_{block}"),
        }
    }

    /// Values of dynamic shared memory. What the compiler knows the size of is not dynamic.
    const fn shared_values(self, block: u32) -> u32 {
        match self {
            Variant::Unrolled => 0,
            _ => block,
        }
    }
}

kernels_common::named_variants!(Variant);

/// Sums of slices of one stream, by trees in shared memory.
#[derive(Debug)]
pub struct TreeReduce<T> {
    variant: Variant,
    kernel: Kernel,
    block: u32,
    element: std::marker::PhantomData<fn(T)>,
}

impl<T: Element> TreeReduce<T> {
    /// Sums by `variant`, with [`DEFAULT_BLOCK`] threads in a block.
    ///
    /// # Errors
    /// If the kernel cannot be loaded (see [`module::load`]).
    pub fn new(stream: &Stream, variant: Variant) -> Result<Self> {
        Self::with_block(stream, variant, DEFAULT_BLOCK)
    }

    /// Sums by `variant`, with `block` threads in a block.
    ///
    /// # Errors
    /// [`Error::InvalidBlock`] for a number of threads that the variant is not made for (see [`Variant::check_block`]);
    /// [`Error::InvalidLaunch`] for none, or more than the device can launch; if the kernel cannot be loaded.
    pub fn with_block(stream: &Stream, variant: Variant, block: u32) -> Result<Self> {
        variant.check_block(block)?;
        let [kernel] = module::load(stream, PTX, [&format!("{}_{}", variant.kernel(block), T::NAME)])?;
        kernel.check(&LaunchConfig::linear(1, block))?;
        Ok(Self { variant, kernel, block, element: std::marker::PhantomData })
    }

    /// How it computes.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// The launch for `n` elements: a thread for each, or for every two.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if that takes more than 2³¹ − 1 blocks.
    pub fn plan(&self, n: u64) -> Result<LaunchConfig> {
        let threads = n.div_ceil(self.variant.elements_per_thread().into());
        LaunchConfig::covering(threads, self.block)?.shared::<T::Sum>(self.variant.shared_values(self.block))
    }
}

impl<T: Element> Sum<T> for TreeReduce<T> {
    fn name(&self) -> &'static str {
        self.variant.name()
    }

    fn is_reproducible(&self) -> bool {
        !T::IS_FLOAT
    }

    /// The addition on loading, if there is one; the rounds of the tree; then at worst the additions of all blocks.
    fn depth(&self, n: u64) -> u64 {
        let per_thread = self.variant.elements_per_thread();
        let rounds = u64::from(self.block.next_power_of_two().ilog2());
        u64::from(per_thread - 1) + rounds + n.div_ceil(u64::from(per_thread) * u64::from(self.block))
    }

    fn stream(&self) -> &Stream {
        self.kernel.stream()
    }

    fn launch(&mut self, mut job: Job<'_, T>) -> Result<()> {
        let n = job.n();
        let config = self.plan(n)?;
        job.output().fill_zero()?;
        let (input, output) = job.parts();
        // SAFETY: the input has n elements and the output one. The grid covers all elements, each kernel leaves out
        // what lies past the end, and a block has as many values of shared memory as threads.
        unsafe { self.kernel.launch(config, (input, n, output)) }
    }
}
