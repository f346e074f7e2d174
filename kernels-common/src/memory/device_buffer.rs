//! Memory of the device.

use std::marker::PhantomData;

use bytemuck::Pod;

use super::{buffer_methods, byte_size};
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

buffer_methods!(DeviceBuffer);

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

    /// Makes room for `needed` elements, for a buffer of scratch memory: if it has to grow, what it held is lost. The
    /// old memory is freed in stream order, after the work that uses it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::TooLarge`] if the size cannot be represented. The buffer then stays as it was.
    pub fn grow_uninit(&mut self, needed: u64) -> Result<()> {
        if needed > self.len as u64 {
            *self = Self::uninit(&self.stream, element_count(needed)?)?;
        }
        Ok(())
    }

    /// The same, with memory that is all zeros if it has to grow.
    ///
    /// # Errors
    /// As [`grow_uninit`](Self::grow_uninit).
    pub fn grow_zeros(&mut self, needed: u64) -> Result<()> {
        if needed > self.len as u64 {
            *self = self.stream.alloc_zeros(element_count(needed)?)?;
        }
        Ok(())
    }
}

/// `count` as the length of a buffer.
fn element_count(count: u64) -> Result<usize> {
    let too_large = Error::TooLarge { what: "the number of elements", asked: count, maximum: usize::MAX as u64 };
    usize::try_from(count).map_err(|_| too_large)
}

impl<T> DeviceBuffer<T> {
    fn place(&self) -> (&Stream, u64, usize) {
        (&self.stream, self.address, self.len)
    }

    fn change_stream(&mut self, stream: &Stream) -> Result<()> {
        stream.follow(&self.stream)?;
        self.stream = stream.clone();
        Ok(())
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
