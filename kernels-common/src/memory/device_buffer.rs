//! Memory of the device.

use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::Pod;

use super::{Slice, SliceMut, byte_size};
use crate::error::{Error, Result};
use crate::stream::Stream;

/// An array of `T` in device memory, allocated and freed in the order of its stream.
///
/// A buffer without elements holds no memory.
#[derive(Debug)]
pub struct DeviceBuffer<T> {
    stream: Stream,
    address: u64,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Pod> DeviceBuffer<T> {
    pub(crate) fn uninit(stream: &Stream, len: usize) -> Result<Self> {
        let bytes = byte_size::<T>(len)?;
        let address = if bytes == 0 {
            0
        } else {
            // Memory that a capture allocates is there only while its graph runs.
            stream.check_not_captured()?;
            stream.backend().allocate(stream.raw(), bytes)?
        };
        Ok(Self { stream: stream.clone(), address, len, element: PhantomData })
    }

    /// All elements, to read.
    #[must_use]
    pub fn as_slice(&self) -> Slice<'_, T> {
        Slice::new(&self.stream, self.address, self.len)
    }

    /// All elements, to write.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> SliceMut<'_, T> {
        SliceMut::new(&self.stream, self.address, self.len)
    }

    /// The elements of `range`, to read.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::error::Error::OutOfRange).
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Slice<'_, T>> {
        self.as_slice().slice(range)
    }

    /// The elements of `range`, to write.
    ///
    /// # Errors
    /// [`Error::OutOfRange`](crate::error::Error::OutOfRange).
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<SliceMut<'_, T>> {
        self.as_slice_mut().slice_mut(range)
    }

    /// Makes room for `needed` elements, for a buffer of scratch memory: if it has to grow, what it held is lost. The
    /// old memory is freed in stream order, after the work that uses it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::TooLarge`] if the size cannot be represented. The buffer then stays as it was.
    pub fn grow_uninit(&mut self, needed: u64) -> Result<()> {
        if needed > self.len as u64 {
            let too_large =
                Error::TooLarge { what: "the number of elements", asked: needed, maximum: usize::MAX as u64 };
            *self = Self::uninit(&self.stream, usize::try_from(needed).map_err(|_| too_large)?)?;
        }
        Ok(())
    }

    /// Waits for the stream and returns the elements.
    ///
    /// # Errors
    /// An error that earlier work met.
    pub fn download(&self) -> Result<Vec<T>> {
        self.as_slice().download()
    }

    /// Gives the buffer to another stream of the same device. Work that `stream` gets later waits for the work that
    /// the old stream has already; the host waits for nothing.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`](crate::error::Error::DeviceMismatch) for a stream of another device; an error of the
    /// driver. The buffer then stays where it was.
    pub fn move_to(&mut self, stream: &Stream) -> Result<()> {
        if self.stream != *stream {
            stream.follow(&self.stream)?;
            self.stream = stream.clone();
        }
        Ok(())
    }
}

impl<T> DeviceBuffer<T> {
    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The stream that the buffer belongs to.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Takes over memory that was allocated elsewhere; `address` is ignored if there are no elements.
    ///
    /// # Safety
    /// `address` is the start of an allocation of this device, made with `cuMemAlloc` or `cuMemAllocAsync`, that holds
    /// `len` elements with initialised bytes, that nobody else uses or frees, and whose earlier work `stream` waits
    /// for.
    pub unsafe fn from_raw(stream: &Stream, address: u64, len: usize) -> Self {
        Self { stream: stream.clone(), address, len, element: PhantomData }
    }

    /// Gives up the buffer without freeing its memory: the device address and the number of elements.
    #[must_use]
    pub fn into_raw(self) -> (u64, usize) {
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never used or dropped again, so the stream is taken out of it once and dropped here.
        unsafe { std::ptr::drop_in_place(&raw mut this.stream) };
        (this.address, this.len)
    }
}

impl<T> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if self.len * size_of::<T>() > 0 {
            // SAFETY: every operation on the buffer was queued on this stream, or on one that it waits for; nothing can
            // name the buffer from here on.
            unsafe { self.stream.backend().free(self.stream.raw(), self.address) }
        }
    }
}

impl<'a, T: Pod> From<&'a DeviceBuffer<T>> for Slice<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        buffer.as_slice()
    }
}

impl<'a, T: Pod> From<&'a mut DeviceBuffer<T>> for SliceMut<'a, T> {
    fn from(buffer: &'a mut DeviceBuffer<T>) -> Self {
        buffer.as_slice_mut()
    }
}
