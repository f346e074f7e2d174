//! What all sums have in common, however they are computed: [`Sum`].

use std::fmt::Debug;

use crate::element::Element;
use crate::error::Result;
use crate::memory::{Slice, SliceMut};
use crate::stream::Stream;

/// A way to add up slices of one stream. It owns its kernels and its scratch memory, so that a call allocates nothing.
///
/// Sums are in [`Element::Sum`]: halves add up in `f32`, `i32` in `i64`; 64-bit integers wrap around. Whatever the way:
/// the sum of nothing is +0, that of any number of −0 is +0, and a NaN or infinities of both signs among the elements
/// give NaN.
///
/// ```
/// use kernels_common::device::Device;
/// use kernels_common::element::Element;
/// use kernels_common::error::Result;
/// use kernels_common::memory::Slice;
/// use kernels_common::sum::Sum;
///
/// /// The mean of the elements, by any way to add them up.
/// fn mean<T: Element>(sum: &mut dyn Sum<T>, values: Slice<'_, T>) -> Result<f64> {
///     Ok(sum.sum(values)?.to_f64() / values.len() as f64)
/// }
/// ```
pub trait Sum<T: Element>: Debug + Send {
    /// The name of the variant, such as `warp-leader`.
    fn name(&self) -> &'static str;

    /// Whether the same input gives the same bits at every run on the same device. Where the order of additions is left
    /// to chance, it does for integers alone.
    fn is_reproducible(&self) -> bool;

    /// The most rounded additions that an element passes through on its way into the sum of `n` elements.
    /// [`Exact::bound`](crate::oracle::Exact::bound) makes an error bound of it.
    fn depth(&self, n: u64) -> u64;

    /// The stream that it works on.
    fn stream(&self) -> &Stream;

    /// Makes the scratch memory large enough for `n` elements. Without this it grows when a call needs more than any
    /// call before.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::error::Error::OutOfMemory); [`TooLarge`](crate::error::Error::TooLarge) if so many
    /// elements cannot be planned.
    fn reserve(&mut self, n: usize) -> Result<()> {
        let _ = n;
        Ok(())
    }

    /// Launches the kernels for a job. What a variant has to write; to use one, call [`enqueue`](Sum::enqueue), which
    /// checks the slices and makes the job.
    ///
    /// # Errors
    /// As [`enqueue`](Sum::enqueue).
    fn launch(&mut self, job: Job<'_, T>) -> Result<()>;

    /// Starts computing the sum of `input` into the one element of `output`, and returns.
    ///
    /// # Errors
    /// [`StreamMismatch`](crate::error::Error::StreamMismatch); [`LengthMismatch`](crate::error::Error::LengthMismatch)
    /// unless `output` has one element; [`TooLarge`](crate::error::Error::TooLarge) if so many elements cannot be
    /// planned; [`OutOfMemory`](crate::error::Error::OutOfMemory) if scratch memory has to grow and cannot.
    fn enqueue(&mut self, input: Slice<'_, T>, mut output: SliceMut<'_, T::Sum>) -> Result<()> {
        input.check(self.stream(), "the input")?;
        output.check(self.stream(), "the output")?;
        output.check_len(1, "the output")?;
        if input.is_empty() {
            return output.fill_zero();
        }
        self.launch(Job { input, output })
    }

    /// Computes the sum of `input`, waits, and returns it.
    ///
    /// # Errors
    /// As [`enqueue`](Sum::enqueue); an error that earlier work on the stream met.
    fn sum(&mut self, input: Slice<'_, T>) -> Result<T::Sum> {
        let mut output = self.stream().alloc_uninit(1)?;
        self.enqueue(input, output.as_slice_mut())?;
        let mut value = [T::Sum::default()];
        output.as_slice().copy_to(&mut value)?;
        Ok(value[0])
    }
}

/// What a [`Sum`] has to do: at least one element to add up, and one place for the result, both of its stream.
#[derive(Debug)]
pub struct Job<'a, T: Element> {
    input: Slice<'a, T>,
    output: SliceMut<'a, T::Sum>,
}

impl<T: Element> Job<'_, T> {
    /// The elements; there is at least one.
    #[must_use]
    pub fn input(&self) -> Slice<'_, T> {
        self.input
    }

    /// How many elements there are.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.input.len() as u64
    }

    /// Where the result goes: one element.
    pub fn output(&mut self) -> SliceMut<'_, T::Sum> {
        self.output.reborrow()
    }

    /// The elements, and where the result goes.
    pub fn parts(&mut self) -> (Slice<'_, T>, SliceMut<'_, T::Sum>) {
        (self.input, self.output.reborrow())
    }
}
