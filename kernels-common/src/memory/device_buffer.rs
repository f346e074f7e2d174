//! Memory of the device.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::allocation::{Allocation, Place};
use super::{buffer_methods, byte_size};
use crate::error::{Error, Result};
use crate::stream::Stream;

/// An array of `T` in device memory, allocated and freed in the order of its stream.
///
/// A buffer without elements holds no memory.
#[derive(Debug)]
pub struct DeviceBuffer<T> {
    stream: Stream,
    /// `None` if there are no bytes.
    allocation: Option<Arc<Allocation>>,
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
            stream.check_allocation()?;
            stream.backend().allocate(stream.raw(), bytes)?
        };
        // SAFETY: a fresh allocation of that size, which nobody else knows.
        Ok(unsafe { Self::from_raw(stream, address, len) })
    }

    /// Makes room for `needed` elements, for a buffer of scratch memory: if it has to grow, what it held is lost. The
    /// old memory is freed in stream order, after the work that uses it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::TooLarge`] if the size cannot be represented; [`Error::Capturing`] if it has to
    /// grow while the stream's work is captured into a graph. The buffer then stays as it was.
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
    fn parts(&self) -> (&Stream, Option<&Arc<Allocation>>, usize) {
        (&self.stream, self.allocation.as_ref(), self.len)
    }

    fn change_stream(&mut self, stream: &Stream) -> Result<()> {
        let allocation = self.allocation.as_mut().map(Allocation::alone).transpose()?;
        stream.follow(&self.stream)?;
        if let Some(allocation) = allocation {
            allocation.set_stream(stream);
        }
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
        let allocation = (len * size_of::<T>() > 0).then(|| Allocation::new(stream, Place::Device(address)));
        Self { stream: stream.clone(), allocation, len, element: PhantomData }
    }

    /// Gives up the buffer without freeing its memory: the device address and the number of elements. A
    /// [`Graph`](crate::graph::Graph) whose work uses the memory still does.
    #[must_use]
    pub fn into_raw(self) -> (u64, usize) {
        let address = self.allocation.as_ref().map_or(0, |allocation| {
            allocation.give_up();
            allocation.address()
        });
        (address, self.len)
    }

    /// Refuses memory that a graph uses; `what` is what cannot be done.
    #[cfg(feature = "cuda")]
    pub(crate) fn check_not_in_graph(&mut self, what: &'static str) -> Result<()> {
        let alone = self.allocation.as_mut().is_none_or(|allocation| Arc::get_mut(allocation).is_some());
        if alone { Ok(()) } else { Err(Error::InGraph { what }) }
    }
}
