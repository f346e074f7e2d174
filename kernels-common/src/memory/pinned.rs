//! Page-locked host memory.

use bytemuck::Pod;

use super::host_shared::{HostShared, Kind};
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
        let memory = match bytes {
            0 => None,
            _ => {
                let memory = stream.backend().allocate_pinned(bytes, kind == PinnedKind::WriteCombined)?;
                // SAFETY: a fresh allocation of that size, which nobody else knows.
                unsafe { memory.host.write_bytes(0, bytes as usize) };
                Some(memory)
            }
        };
        Ok(Self { shared: HostShared::new(stream, Kind::Pinned, memory, len) })
    }

    /// The elements on the host. Waits for the buffer's stream.
    ///
    /// # Errors
    /// An error that the stream's work met.
    pub fn host(&self) -> Result<&[T]> {
        self.shared.stream().synchronize()?;
        // SAFETY: all work on the stream, and with it on this buffer, is done.
        Ok(unsafe { self.shared.host_slice() })
    }

    /// The elements on the host, to write. Waits for the buffer's stream.
    ///
    /// # Errors
    /// An error that the stream's work met.
    pub fn host_mut(&mut self) -> Result<&mut [T]> {
        self.shared.stream().synchronize()?;
        // SAFETY: as above.
        Ok(unsafe { self.shared.host_slice_mut() })
    }
}

impl<T> PinnedBuffer<T> {
    fn place(&self) -> (&Stream, u64, usize) {
        self.shared.place()
    }

    fn change_stream(&mut self, stream: &Stream) -> Result<()> {
        self.shared.change_stream(stream)
    }
}
