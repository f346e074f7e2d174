//! Sums in one cooperative launch, whose blocks meet at barriers of the whole grid.
//!
//! ```
//! use grid_sync::{GridSync, Variant};
//! use kernels_common::device::Device;
//! use kernels_common::sum::Sum;
//!
//! let stream = Device::open("auto")?.stream()?;
//! let x = stream.upload(&[1.0f32, 2.0, 3.0])?;
//! let mut sum = GridSync::<f32>::new(&stream, Variant::OneBarrier)?;
//! assert_eq!(sum.sum(x.as_slice())?, 6.0);
//! # Ok::<(), kernels_common::error::Error>(())
//! ```
//!
//! Blocks can wait for each other only if all of them are resident at once, because a block that waits does not make
//! room for one that has not started. A cooperative launch promises that, and so its grid has a limit: what the
//! multiprocessors hold together. [`GridSync::new`] asks the device and takes no more blocks than that, and no more
//! than there is work for; the threads walk through the elements in strides of the whole grid.
//! [`GridSync::with_blocks`] takes a number of blocks as it is, and refuses one that is too large with the maximum.
//!
//! The order of the additions depends on the number of elements and of blocks. With the blocks of [`GridSync::new`]
//! bits are the same at every run on one device, but another device may hold more blocks; with an equal number of
//! blocks they are the same on every device.
//!
//! Not every device launches cooperatively: see [`Properties::cooperative_launch`]. Where it does not, the constructors
//! give [`Error::Unsupported`].
//!
//! [`Properties::cooperative_launch`]: kernels_common::device::Properties::cooperative_launch

use kernels_common::element::Element;
use kernels_common::error::{Error, Result};
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::DeviceBuffer;
use kernels_common::module::{self, Kernel, Ptx};
use kernels_common::stream::Stream;
use kernels_common::sum::{Job, Sum};

/// The runtime whose types are in this crate's interface, for programs that name no version of it themselves.
pub use kernels_common;

const PTX: &[Ptx] = kernels_common::ptx!("grid-sync");

/// Threads of a block.
const THREADS: u32 = 256;

/// What the blocks do with their partial sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// After one barrier of the grid the first block adds up all partials.
    OneBarrier,
    /// After each barrier half of the partials are added to the other half, until one is left.
    Barriers,
}

impl Variant {
    /// Every variant.
    pub const ALL: [Variant; 2] = [Variant::OneBarrier, Variant::Barriers];

    /// Its name, such as `one-barrier`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Variant::OneBarrier => "one-barrier",
            Variant::Barriers => "barriers",
        }
    }

    const fn kernel(self) -> &'static str {
        match self {
            Variant::OneBarrier => "one_barrier",
            Variant::Barriers => "barriers",
        }
    }
}

kernels_common::named_variants!(Variant);

/// Sums of slices of one stream, in one cooperative launch. Owns the memory of the partials, so that a call allocates
/// nothing.
#[derive(Debug)]
pub struct GridSync<T: Element> {
    variant: Variant,
    kernel: Kernel,
    /// Blocks of every launch; otherwise as many as there is work for, up to what is resident at once.
    blocks: Option<u32>,
    /// The most blocks there can be.
    resident: u32,
    /// One for each block of the largest grid.
    partials: DeviceBuffer<T::Sum>,
}

impl<T: Element> GridSync<T> {
    /// Sums by `variant`, with as many blocks as the device holds at once, or fewer where the elements need no more.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the device has no cooperative launches; if the kernel cannot be loaded (see
    /// [`module::load`]) or the memory of the partials cannot be had.
    pub fn new(stream: &Stream, variant: Variant) -> Result<Self> {
        let kernel = Self::load(stream, variant)?;
        let resident = kernel.resident_blocks(THREADS, 0)?;
        Ok(Self { variant, kernel, blocks: None, resident, partials: stream.alloc_uninit(resident as usize)? })
    }

    /// Sums by `variant`, with exactly `blocks` blocks of 256 threads, however few elements there are.
    ///
    /// # Errors
    /// [`Error::CooperativeTooLarge`], which states the maximum, if the device does not hold so many at once;
    /// [`Error::InvalidLaunch`] for no blocks; and as [`GridSync::new`].
    pub fn with_blocks(stream: &Stream, variant: Variant, blocks: u32) -> Result<Self> {
        let kernel = Self::load(stream, variant)?;
        let resident = kernel.resident_blocks(THREADS, 0)?;
        kernel.check(&LaunchConfig::linear(blocks, THREADS).cooperative())?;
        if blocks == 0 {
            return Err(Error::InvalidLaunch {
                kernel: kernel.name().to_owned(),
                limit: "the number of blocks",
                asked: 0,
                maximum: resident.into(),
            });
        }
        Ok(Self { variant, kernel, blocks: Some(blocks), resident, partials: stream.alloc_uninit(blocks as usize)? })
    }

    fn load(stream: &Stream, variant: Variant) -> Result<Kernel> {
        let [kernel] = module::load(stream, PTX, [&format!("{}_{}", variant.kernel(), T::NAME)])?;
        kernel.check(&LaunchConfig::linear(1, THREADS).cooperative())?;
        Ok(kernel)
    }

    /// The most blocks that the device holds at once.
    #[must_use]
    pub fn max_blocks(&self) -> u32 {
        self.resident
    }

    /// How it computes.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// The launch for `n` elements, of any number: a thread for each, as far as the blocks are resident at once, unless
    /// another number of blocks was asked for.
    #[must_use]
    pub fn plan(&self, n: u64) -> LaunchConfig {
        let needed = n.div_ceil(THREADS.into()).max(1);
        // No more than `resident`, and so within 32 bits.
        let blocks = self.blocks.unwrap_or_else(|| needed.min(self.resident.into()) as u32);
        LaunchConfig::linear(blocks, THREADS).cooperative()
    }
}

impl<T: Element> Sum<T> for GridSync<T> {
    fn name(&self) -> &'static str {
        self.variant.name()
    }

    fn is_reproducible(&self) -> bool {
        true
    }

    fn depth(&self, n: u64) -> u64 {
        let blocks = self.plan(n).blocks();
        // What a thread adds to its sum, which starts at zero, and the tree of its block.
        let pass = |values: u64, threads: u64| values.div_ceil(threads) + u64::from(THREADS.ilog2());
        pass(n, blocks * u64::from(THREADS))
            + match self.variant {
                Variant::OneBarrier => pass(blocks, THREADS.into()),
                Variant::Barriers => blocks.next_power_of_two().ilog2().into(),
            }
    }

    fn stream(&self) -> &Stream {
        self.kernel.stream()
    }

    fn launch(&mut self, mut job: Job<'_, T>) -> Result<()> {
        let n = job.n();
        let config = self.plan(n);
        let (input, output) = job.parts();
        // SAFETY: the input has n elements, the output one, and there is a partial for each block of any grid that is
        // planned; all blocks are resident, so that the barriers end.
        unsafe { self.kernel.launch(config, (input, n, self.partials.as_slice_mut(), output)) }
    }
}
