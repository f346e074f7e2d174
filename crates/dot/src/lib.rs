//! Dot products on a GPU or on the simulator: Σ x\[i\]·y\[i\], for every element type.
//!
//! ```
//! use dot::Dot;
//! use kernels_common::device::Device;
//!
//! let stream = Device::open("auto")?.stream()?;
//! let x = stream.upload(&[1.0f32, 2.0, 3.0])?;
//! let y = stream.upload(&[4.0f32, 5.0, 6.0])?;
//! let mut dot = Dot::<f32>::new(&stream)?; // loads the kernel, allocates scratch memory once
//! assert_eq!(dot.value(&x, &y)?, 32.0); // launches, waits, reads back
//!
//! let mut out = stream.alloc_zeros::<f32>(8)?;
//! dot.enqueue(x.slice(1..)?, y.slice(1..)?, out.slice_mut(7..)?)?; // only launches
//! assert_eq!(out.download()?[7], 28.0);
//! # Ok::<(), kernels_common::error::Error>(())
//! ```
//!
//! Two ways, see [`Variant`]:
//!
//! - **canonical** (the default): one launch that reads each element once, in 16-byte packets, with one fused
//!   multiply-add for each. The order of all additions is fixed by the number and type of the elements
//!   ([`kernels_common::order`]): the result has the same bits on every GPU, on the simulator, and on the host
//!   ([`canonical()`]), wherever the slices start. The last block to finish combines the blocks' partial sums.
//! - **three-stage**: the classic. The first launch multiplies and reduces every 256 products to one partial through
//!   a tree in shared memory, the second reduces every 256 partials to one, and the third, a single block, adds up what
//!   is left. Launches on one stream follow each other, so the end of one is a barrier for the whole grid.
//!
//! Slices of a program that uses cudarc are lent for the time of a call
//! ([`interop`](kernels_common::interop)):
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
//! use dot::Dot;
//! use kernels_common::device::Device;
//! use kernels_common::stream::Stream;
//!
//! # type Anything = Box<dyn std::error::Error>;
//! # fn run(context: Arc<CudaContext>, theirs: Arc<CudaStream>) -> Result<(), Anything> {
//! # let (x, y) = (theirs.clone_htod(&[1.0f32, 2.0, 3.0])?, theirs.clone_htod(&[4.0f32, 5.0, 6.0])?);
//! # let mut out: CudaSlice<f32> = theirs.alloc_zeros(1)?;
//! let device = Device::from_cudarc(context)?;
//! let stream = Stream::from_cudarc(&device, theirs.clone())?;
//! let mut dot = Dot::<f32>::new(&stream)?;
//! stream.lend((&x, &y, &mut out), |(x, y, out)| dot.enqueue(x, y, out))?; // only launches
//! assert_eq!(theirs.clone_dtoh(&out)?, [32.0]);
//! # Ok(())
//! # }
//! ```
//!
//! Products and sums are in [`Element::Sum`]: halves are accumulated in `f32`, `i32` in `i64`; 64-bit integers wrap
//! around. A NaN result is always the type's `NAN` constant. Sums start at +0, so that zeros of whichever sign add up
//! to +0.

mod three_stage;

use kernels_common::canonical;
use kernels_common::element::Element;
use kernels_common::error::Result;
use kernels_common::memory::{HostValue, Slice, SliceMut};
use kernels_common::module::Ptx;
use kernels_common::order;
use kernels_common::single_launch::SingleLaunch;
use kernels_common::stream::Stream;

use three_stage::ThreeStage;

/// The runtime whose types are in this crate's interface, for programs that name no version of it themselves.
///
/// ```
/// use dot::Dot;
/// use dot::kernels_common::{device::Device, element::f16, error::Error};
///
/// let stream = Device::open("sim")?.stream()?;
/// let x = stream.upload(&[f16::ONE; 100])?;
/// assert_eq!(Dot::<f16>::new(&stream)?.value(&x, &x)?, 100.0);
/// # Ok::<(), Error>(())
/// ```
pub use kernels_common;

/// The PTX of all kernels of this crate, for programs that launch one themselves.
pub const PTX: &[Ptx] = kernels_common::ptx!("dot");

/// A way to compute a dot product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Variant {
    /// One launch in canonical order.
    #[default]
    Canonical,
    /// Three launches: partials, partials of partials, one block.
    ThreeStage,
}

impl Variant {
    /// Every variant.
    pub const ALL: [Variant; 2] = [Variant::Canonical, Variant::ThreeStage];

    /// Its name, such as `three-stage`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Canonical => "canonical",
            Variant::ThreeStage => "three-stage",
        }
    }

    /// Whether the same input always gives the same bits. Here all do: no sum depends on which block is first.
    #[must_use]
    pub const fn is_reproducible(self) -> bool {
        match self {
            Variant::Canonical | Variant::ThreeStage => true,
        }
    }

    /// The most rounded operations that a product of `n` passes through on its way into the result, its own included.
    /// [`Exact::bound`](kernels_common::oracle::Exact::bound) makes an error bound of it.
    #[must_use]
    pub fn depth<T: Element>(self, n: u64) -> u64 {
        match self {
            Variant::Canonical => order::depth::<T>(n).into(),
            Variant::ThreeStage => three_stage::depth(n),
        }
    }
}

kernels_common::named_variants!(Variant);

/// Dot products of slices of one stream. Owns the scratch memory, so that a call allocates nothing.
#[derive(Debug)]
pub struct Dot<T: Element> {
    stream: Stream,
    plan: Plan<T>,
    /// Where [`Dot::value`] leaves its result.
    result: HostValue<T::Sum>,
}

#[derive(Debug)]
enum Plan<T: Element> {
    Canonical(SingleLaunch<T>),
    ThreeStage(ThreeStage<T>),
}

impl<T: Element> Dot<T> {
    /// A dot product by the default variant.
    ///
    /// # Errors
    /// If the kernel cannot be loaded (see [`kernels_common::module::load`]) or the scratch memory cannot be had.
    pub fn new(stream: &Stream) -> Result<Self> {
        Self::with_variant(stream, Variant::default())
    }

    /// A dot product by `variant`.
    ///
    /// # Errors
    /// As [`Dot::new`].
    pub fn with_variant(stream: &Stream, variant: Variant) -> Result<Self> {
        let plan = match variant {
            Variant::Canonical => Plan::Canonical(SingleLaunch::new(stream, PTX, "dot")?),
            Variant::ThreeStage => Plan::ThreeStage(ThreeStage::new(stream)?),
        };
        Ok(Self { stream: stream.clone(), plan, result: HostValue::new(stream) })
    }

    /// How it computes.
    #[must_use]
    pub fn variant(&self) -> Variant {
        match self.plan {
            Plan::Canonical(_) => Variant::Canonical,
            Plan::ThreeStage(_) => Variant::ThreeStage,
        }
    }

    /// The stream that it works on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Makes the scratch memory large enough for slices of `n` elements, so that no later call allocates. Without this
    /// it grows when a call needs more than any call before.
    ///
    /// # Errors
    /// [`OutOfMemory`](kernels_common::error::Error::OutOfMemory).
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        match &mut self.plan {
            Plan::Canonical(plan) => plan.reserve(n as u64),
            Plan::ThreeStage(plan) => plan.reserve(n as u64),
        }
    }

    /// Starts computing the dot product of `x` and `y` into the one element of `out`, and returns. That of nothing is
    /// zero.
    ///
    /// The first canonical one of slices that do not start at a multiple of 16 bytes loads a kernel for them.
    ///
    /// # Errors
    /// [`LengthMismatch`](kernels_common::error::Error::LengthMismatch) unless `x` and `y` have equal lengths and `out`
    /// has one element; [`StreamMismatch`](kernels_common::error::Error::StreamMismatch);
    /// [`TooLarge`](kernels_common::error::Error::TooLarge) if the variant cannot plan so many elements.
    pub fn enqueue<'a>(
        &mut self,
        x: impl Into<Slice<'a, T>>,
        y: impl Into<Slice<'a, T>>,
        out: impl Into<SliceMut<'a, T::Sum>>,
    ) -> Result<()> {
        start(&mut self.plan, &self.stream, x.into(), y.into(), out.into())
    }

    /// Computes the dot product of `x` and `y`, waits, and returns it.
    ///
    /// # Errors
    /// As [`Dot::enqueue`]; an error that earlier work on the stream met.
    pub fn value<'a>(&mut self, x: impl Into<Slice<'a, T>>, y: impl Into<Slice<'a, T>>) -> Result<T::Sum> {
        start(&mut self.plan, &self.stream, x.into(), y.into(), self.result.slot()?)?;
        self.result.wait()
    }
}

fn start<T: Element>(
    plan: &mut Plan<T>,
    stream: &Stream,
    x: Slice<'_, T>,
    y: Slice<'_, T>,
    mut out: SliceMut<'_, T::Sum>,
) -> Result<()> {
    x.check(stream, "x")?;
    y.check(stream, "y")?;
    out.check(stream, "the output")?;
    y.check_len(x.len(), "y")?;
    out.check_len(1, "the output")?;
    if x.is_empty() {
        return out.fill_zero();
    }
    match plan {
        Plan::Canonical(plan) => {
            let n = x.len() as u64;
            plan.run([x, y], n, |kernel, config, scratch| {
                let arguments =
                    (x, y, n, scratch.log2_v, scratch.virtual_blocks, scratch.partials, scratch.counter, out);
                // SAFETY: x and y have n elements, out has one, and the scratch memory is as the kernel expects it.
                unsafe { kernel.launch(config, arguments) }
            })
        }
        Plan::ThreeStage(plan) => plan.start(x, y, out),
    }
}

/// The dot product of `x` and `y` on the host, with the bits of [`Variant::Canonical`]. Uses several threads.
///
/// # Errors
/// [`LengthMismatch`](kernels_common::error::Error::LengthMismatch) unless `x` and `y` have equal lengths.
///
/// ```
/// assert_eq!(dot::canonical(&[1.0f32, 2.0, 3.0], &[4.0, 5.0, 6.0])?, 32.0);
/// # Ok::<(), kernels_common::error::Error>(())
/// ```
pub fn canonical<T: Element>(x: &[T], y: &[T]) -> Result<T::Sum> {
    canonical::dot(x, y)
}
