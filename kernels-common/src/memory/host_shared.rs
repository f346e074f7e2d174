//! What pinned and unified buffers have in common: one allocation that host and device both see.

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::{Slice, SliceMut};
use crate::backend::HostMemory;
use crate::stream::Stream;

/// An allocation that the host can read and write, and the stream whose work may use it too.
///
/// There is no note of whether the device has work on it: a device slice that was taken earlier can be launched on at
/// any time, so only a wait for the stream tells.
#[derive(Debug)]
pub(super) struct HostShared<T> {
    pub(super) stream: Stream,
    /// `None` if there are no elements.
    pub(super) memory: Option<HostMemory>,
    pub(super) len: usize,
    element: PhantomData<T>,
}

// SAFETY: the memory is owned like that of a Vec; the host touches it only through the usual borrows, and device work
// on it is waited for before any of them is given out.
unsafe impl<T: Send> Send for HostShared<T> {}
// SAFETY: as above; shared access only reads.
unsafe impl<T: Sync> Sync for HostShared<T> {}

impl<T> HostShared<T> {
    pub(super) fn new(stream: &Stream, memory: Option<HostMemory>, len: usize) -> Self {
        const { assert!(align_of::<T>() <= 256, "devices align memory to 256 bytes") };
        Self { stream: stream.clone(), memory, len, element: PhantomData }
    }

    fn host(&self) -> NonNull<T> {
        self.memory.map_or(NonNull::dangling(), |memory| memory.host.cast())
    }

    fn address(&self) -> u64 {
        self.memory.map_or(0, |memory| memory.device)
    }

    pub(super) fn device_slice(&self) -> Slice<'_, T> {
        Slice::new(&self.stream, self.address(), self.len)
    }

    pub(super) fn device_slice_mut(&mut self) -> SliceMut<'_, T> {
        SliceMut::new(&self.stream, self.address(), self.len)
    }

    /// The elements on the host.
    ///
    /// # Safety
    /// Device work that writes to them is done.
    pub(super) unsafe fn host_slice(&self) -> &[T] {
        // SAFETY: the allocation holds `len` initialised elements. The device no longer writes to it, and can be asked
        // to again only through a unique borrow of this buffer.
        unsafe { std::slice::from_raw_parts(self.host().as_ptr(), self.len) }
    }

    /// The elements on the host, to write.
    ///
    /// # Safety
    /// Device work that uses them is done.
    pub(super) unsafe fn host_slice_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the device no longer reads it either.
        unsafe { std::slice::from_raw_parts_mut(self.host().as_ptr(), self.len) }
    }
}
