//! What every summing crate offers.

use crate::element::Element;
use crate::error::Result;
use crate::memory::{DeviceBuffer, Slice, SliceMut};
use crate::stream::Stream;

/// A way to add up the elements of a slice on a device.
///
/// An implementation belongs to one stream and owns the scratch memory that it needs, so that a call allocates
/// nothing.
pub trait Sum<T: Element> {
    /// A name that tells it from other ways, such as `tree-sequential`.
    fn name(&self) -> &str;

    /// Whether the same input always gives the same bits. True for all integer types; for floating-point types true of
    /// the ways whose order of additions is fixed.
    fn is_reproducible(&self) -> bool;

    /// The stream that it works on.
    fn stream(&self) -> &Stream;

    /// Starts adding up `input` into the one element of `output`, and returns. The sum of nothing is zero.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`](crate::error::Error::LengthMismatch) unless `output` has one element,
    /// [`Error::StreamMismatch`](crate::error::Error::StreamMismatch),
    /// [`Error::TooLarge`](crate::error::Error::TooLarge) for more elements than this way can plan.
    fn enqueue(&mut self, input: Slice<'_, T>, output: SliceMut<'_, T::Sum>) -> Result<()>;

    /// Adds up `input`, waits, and returns the sum.
    ///
    /// # Errors
    /// As [`Sum::enqueue`]; an error that earlier work on the stream met.
    fn sum(&mut self, input: Slice<'_, T>) -> Result<T::Sum> {
        let mut output: DeviceBuffer<T::Sum> = self.stream().alloc_uninit(1)?;
        self.enqueue(input, output.as_slice_mut())?;
        let mut value = [T::Sum::default()];
        output.as_slice().copy_to(&mut value)?;
        Ok(value[0])
    }
}
