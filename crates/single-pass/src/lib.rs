//! Sums, products, minima and maxima on a GPU or on the simulator, in one launch, with the same bits on every device.
//!
//! ```
//! use kernels_common::device::Device;
//! use single_pass::{Maximum, Product, Reduce, SinglePass};
//!
//! let stream = Device::open("auto")?.stream()?;
//! let x = stream.upload(&[1.0f32, 2.0, 3.0, 4.0])?;
//! let mut sum = SinglePass::<f32>::new(&stream)?; // loads the kernel, allocates scratch memory once
//! assert_eq!(sum.value(&x)?, 10.0); // launches, waits, reads back
//! assert_eq!(Reduce::<f32, Product>::new(&stream)?.value(&x)?, 24.0);
//!
//! let mut out = stream.alloc_zeros::<f32>(8)?;
//! Reduce::<f32, Maximum>::new(&stream)?.enqueue(x.slice(1..)?, out.slice_mut(7..)?)?; // only launches
//! assert_eq!(out.download()?[7], 4.0);
//! # Ok::<(), kernels_common::error::Error>(())
//! ```
//!
//! The order in which elements are combined is the [canonical order](kernels_common::order): it depends on their number
//! and type alone. Results have the same bits on every GPU, on the simulator, and on the host ([`Reduce::canonical`]),
//! wherever the slice starts. Each block leaves one partial result for each virtual block that it walks, then counts
//! itself; the one that finds itself the last combines all partials. There is no second launch and no waiting, and a
//! slice that is one virtual block needs no counter either. Slices of 64 MiB or more are taken in by bulk copies on
//! devices of compute capability 9.0 and later.
//!
//! | [`Operation`] | of nothing | NaN | −0 | result |
//! |---|---|---|---|---|
//! | [`Plus`] | +0 | gives NaN, as do infinities of both signs | any number of −0 is +0 | [`Element::Sum`] |
//! | [`Product`] | 1 | gives NaN, as does 0 times infinity | negative if an odd number of factors is | [`Element::Sum`] |
//! | [`Minimum`] | +∞, or the greatest integer | gives NaN | lies below +0 | the element type |
//! | [`Maximum`] | −∞, or the least integer | gives NaN | lies below +0 | the element type |
//!
//! Sums and products of halves are accumulated in `f32`, those of `i32` in `i64`; 64-bit integers wrap around. A NaN
//! result is always the type's `NAN` constant.

mod operation;

use kernels_common::element::Element;
use kernels_common::error::{Error, Result};
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::{HostValue, Slice, SliceMut};
use kernels_common::module::Ptx;
use kernels_common::order;
use kernels_common::single_launch::SingleLaunch;
use kernels_common::stream::Stream;
use kernels_common::sum::{Job, Sum};

pub use operation::{Maximum, Minimum, Operation, Plus, Product};

/// The runtime whose types are in this crate's interface, for programs that name no version of it themselves.
pub use kernels_common;

const PTX: &[Ptx] = kernels_common::ptx!("single-pass");
const BULK_PTX: &[Ptx] = kernels_common::ptx!("bulk");

/// The bytes of a slice from which on it is reduced by bulk copies, where the device has them. On an H200 they gain
/// 5.4 % for 64 MiB of `f32`, 3.3 % for 128 MiB, 1.1 % for 256 MiB and next to nothing beyond; about 3 % for 512 MiB and
/// 2 GiB of `f16` (`docs/single-pass.md`). Smaller slices were not measured.
const BULK_FROM: u64 = 64 << 20;

/// Sums in one launch. As all sums of this workspace it is also a [`Sum`].
pub type SinglePass<T> = Reduce<T, Plus>;

/// A reduction of slices of one stream by the operation `Op`. Owns the scratch memory, so that a call allocates
/// nothing.
#[derive(Debug)]
pub struct Reduce<T: Element, Op: Operation<T>> {
    launch: SingleLaunch<T>,
    /// Where [`Reduce::value`] leaves its result.
    result: HostValue<Op::Output>,
}

impl<T: Element, Op: Operation<T>> Reduce<T, Op> {
    /// A reduction on `stream`.
    ///
    /// # Errors
    /// If the kernel cannot be loaded (see [`kernels_common::module::load`]) or the scratch memory cannot be had.
    pub fn new(stream: &Stream) -> Result<Self> {
        Self::with_bulk_from(stream, BULK_FROM)
    }

    /// A reduction that takes slices of `from` bytes or more in by bulk copies.
    fn with_bulk_from(stream: &Stream, from: u64) -> Result<Self> {
        let launch = SingleLaunch::new(stream, PTX, &format!("single_pass_{}", Op::NAME))?.with_bulk(BULK_PTX, from);
        Ok(Self { launch, result: HostValue::new(stream) })
    }

    /// The stream that it works on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.launch.stream()
    }

    /// Makes the scratch memory large enough for slices of `n` elements, so that no later call allocates. Without this
    /// it grows when a call needs more than any call before. For large slices it also loads the kernel for them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; if the kernel cannot be loaded.
    pub fn reserve(&mut self, n: usize) -> Result<()> {
        self.launch.reserve(n as u64)
    }

    /// The launch for `n` elements, of any number, that start at a multiple of 16 bytes.
    #[must_use]
    pub fn plan(&self, n: u64) -> LaunchConfig {
        self.launch.plan(n)
    }

    /// Starts reducing `x` into the one element of `out`, and returns.
    ///
    /// The first call with a slice that does not start at a multiple of 16 bytes loads a kernel for such slices; so does,
    /// on a device of compute capability 9.0 or later, the first with one of 64 MiB or more.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless `out` has one element; [`Error::StreamMismatch`]; [`Error::OutOfMemory`] if
    /// scratch memory has to grow and cannot; if such a kernel cannot be loaded.
    pub fn enqueue<'a>(&mut self, x: impl Into<Slice<'a, T>>, out: impl Into<SliceMut<'a, Op::Output>>) -> Result<()> {
        let (x, out) = (x.into(), out.into());
        x.check(self.stream(), "the input")?;
        out.check(self.stream(), "the output")?;
        if out.len() != 1 {
            return Err(Error::LengthMismatch { what: "the output", expected: 1, found: out.len() });
        }
        start(&mut self.launch, x, out)
    }

    /// Reduces `x`, waits, and returns the result.
    ///
    /// # Errors
    /// As [`Reduce::enqueue`]; an error that earlier work on the stream met.
    pub fn value<'a>(&mut self, x: impl Into<Slice<'a, T>>) -> Result<Op::Output> {
        let x = x.into();
        x.check(self.stream(), "the input")?;
        start(&mut self.launch, x, self.result.slot()?)?;
        self.result.wait()
    }

    /// The reduction of `x` on the host, with the same bits. Uses several threads.
    ///
    /// ```
    /// use single_pass::{Minimum, Reduce, SinglePass};
    /// assert_eq!(SinglePass::canonical(&[1.0f32, 2.0, 3.0]), 6.0);
    /// assert_eq!(Reduce::<_, Minimum>::canonical(&[3, -1, 2]), -1);
    /// ```
    #[must_use]
    pub fn canonical(x: &[T]) -> Op::Output {
        Op::canonical(x)
    }
}

/// Launches for a slice of the launch's stream, and an output of one element of it.
fn start<T: Element, R: Element>(launch: &mut SingleLaunch<T>, x: Slice<'_, T>, out: SliceMut<'_, R>) -> Result<()> {
    let n = x.len() as u64;
    launch.run([x], n, |kernel, config, scratch| {
        let arguments = (x, n, scratch.log2_v, scratch.virtual_blocks, scratch.partials, scratch.counter, out);
        // SAFETY: x has n elements, out has one of the kernel's output type, and the scratch memory is as the kernel
        // expects it.
        unsafe { kernel.launch(config, arguments) }
    })
}

impl<T: Element> Sum<T> for SinglePass<T> {
    fn name(&self) -> &'static str {
        "single-pass"
    }

    fn is_reproducible(&self) -> bool {
        true
    }

    fn depth(&self, n: u64) -> u64 {
        order::depth::<T>(n).into()
    }

    fn stream(&self) -> &Stream {
        self.launch.stream()
    }

    fn reserve(&mut self, n: usize) -> Result<()> {
        self.launch.reserve(n as u64)
    }

    fn launch(&mut self, mut job: Job<'_, T>) -> Result<()> {
        let (input, output) = job.parts();
        start(&mut self.launch, input, output)
    }
}

#[cfg(test)]
mod tests;
