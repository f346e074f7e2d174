//! What pinned and unified buffers have in common: one allocation that host and device both see.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::backend::HostMemory;
use crate::error::Result;
use crate::stream::Stream;

/// Which memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Page-locked host memory.
    Pinned,
    /// Memory that moves between host and device.
    Unified {
        /// Only work on the buffer's own stream may use it (`cuStreamAttachMemAsync`).
        attached: bool,
    },
}

/// An allocation that the host can read and write, and the stream whose work may use it too.
///
/// There is no note of whether the device has work on it: a device slice that was taken earlier can be launched on at
/// any time, so only a wait for the stream tells.
#[derive(Debug)]
pub(super) struct HostShared<T> {
    stream: Stream,
    kind: Kind,
    /// `None` if there are no elements.
    memory: Option<HostMemory>,
    len: usize,
    element: PhantomData<T>,
}

// SAFETY: the memory is owned like that of a Vec; the host touches it only through the usual borrows, and device work
// on it is waited for before any of them is given out.
unsafe impl<T: Send> Send for HostShared<T> {}
// SAFETY: as above; shared access only reads.
unsafe impl<T: Sync> Sync for HostShared<T> {}

impl<T> HostShared<T> {
    /// Owns `memory`, which holds `len` elements of initialised bytes.
    pub(super) fn new(stream: &Stream, kind: Kind, memory: Option<HostMemory>, len: usize) -> Self {
        const { assert!(align_of::<T>() <= 256, "devices align memory to 256 bytes") };
        Self { stream: stream.clone(), kind, memory, len, element: PhantomData }
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn memory(&self) -> Option<HostMemory> {
        self.memory
    }

    /// The stream, the device address, and the number of elements.
    pub(super) fn place(&self) -> (&Stream, u64, usize) {
        (&self.stream, self.memory.map_or(0, |memory| memory.device), self.len)
    }

    /// Hands the memory to another stream, which from then on waits for the old one.
    pub(super) fn change_stream(&mut self, stream: &Stream) -> Result<()> {
        if let Kind::Unified { .. } = self.kind {
            stream.check_unified()?;
        }
        stream.follow(&self.stream)?;
        if let (Kind::Unified { attached: true }, Some(memory)) = (self.kind, self.memory) {
            stream.submit(|backend, raw| backend.attach_to_stream(raw, memory))?;
        }
        self.stream = stream.clone();
        Ok(())
    }

    fn host(&self) -> NonNull<T> {
        self.memory.map_or(NonNull::dangling(), |memory| memory.host.cast())
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

impl<T> Drop for HostShared<T> {
    fn drop(&mut self) {
        let Some(memory) = self.memory else { return };
        // If the wait fails, the device has stopped and uses the memory no more.
        let _ = self.stream.release_host_memory();
        let backend = self.stream.backend();
        // SAFETY: no work uses the memory, nothing can name it from here on, and it was allocated as this kind.
        unsafe {
            match self.kind {
                Kind::Pinned => backend.free_pinned(memory),
                Kind::Unified { .. } => backend.free_unified(memory),
            }
        }
    }
}
