//! Page-locked host memory.

use std::sync::Arc;

use bytemuck::Pod;

use super::allocation::{Allocation, Place};
use super::host_shared::{HostShared, HostSlice, HostSliceMut};
use super::{buffer_methods, byte_size};
use crate::error::Result;
use crate::stream::Stream;

/// How the host's caches treat pinned memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PinnedKind {
    /// Cached like any memory: fast to read and to write on the host.
    #[default]
    Cached,
    /// Write-combined: the host should only write it, in order; reading is very slow. Copies to the device may be
    /// faster.
    WriteCombined,
}

/// An array of `T` in page-locked host memory, which the device can copy from and to without staging, and which kernels
/// can also address directly (across the bus).
///
/// The host sees the elements through [`PinnedBuffer::host`] and [`PinnedBuffer::host_mut`], which first wait for
/// the buffer's stream.
#[derive(Debug)]
pub struct PinnedBuffer<T> {
    shared: HostShared<T>,
}

buffer_methods!(PinnedBuffer);

impl<T: Pod> PinnedBuffer<T> {
    /// Page-locked memory for `len` elements, all bytes zero.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::error::Error::TooLarge),
    /// [`Error::OutOfMemory`](crate::error::Error::OutOfMemory).
    pub fn zeros(stream: &Stream, len: usize, kind: PinnedKind) -> Result<Self> {
        let bytes = byte_size::<T>(len)?;
        let place = match bytes {
            0 => None,
            _ => {
                let memory = stream.backend().allocate_pinned(bytes, kind == PinnedKind::WriteCombined)?;
                // SAFETY: a fresh allocation of that size, which nobody else knows.
                unsafe { memory.host.write_bytes(0, bytes as usize) };
                Some(Place::Pinned(memory))
            }
        };
        Ok(Self { shared: HostShared::new(stream, place, len) })
    }

    /// The elements on the host. Waits for the buffer's stream. While the view is alive, a graph that uses the buffer
    /// cannot be launched ([`Error::GraphHostAccess`](crate::error::Error::GraphHostAccess)).
    ///
    /// # Errors
    /// [`Error::Capturing`](crate::error::Error::Capturing) while the stream's work is captured into a graph; an error
    /// that the stream's work met.
    pub fn host(&self) -> Result<HostSlice<'_, T>> {
        self.shared.host()
    }

    /// The elements on the host, to write. Waits for the buffer's stream.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    pub fn host_mut(&mut self) -> Result<HostSliceMut<'_, T>> {
        self.shared.host_mut()
    }
}

impl<T> PinnedBuffer<T> {
    fn parts(&self) -> (&Stream, Option<&Arc<Allocation>>, usize) {
        self.shared.parts()
    }

    fn change_stream(&mut self, stream: &Stream) -> Result<()> {
        self.shared.change_stream(stream)
    }
}
