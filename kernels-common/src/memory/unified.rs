//! Memory that host and device share and that moves between them on demand.

use std::sync::Arc;

use bytemuck::Pod;

use super::allocation::{Allocation, Place};
use super::host_shared::{HostShared, HostSlice, HostSliceMut};
use super::{buffer_methods, byte_size};
use crate::error::Result;
use crate::stream::Stream;

/// Who may use unified memory at first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attach {
    /// Any stream of any device (`cudaMemAttachGlobal`).
    #[default]
    Global,
    /// The host, and then only the buffer's own stream (`cudaMemAttachHost`, followed by the attachment to the stream).
    Host,
}

/// An array of `T` in unified memory.
///
/// The host sees the elements through [`UnifiedBuffer::host`] and [`UnifiedBuffer::host_mut`], which first wait for
/// the buffer's stream. Some devices cannot run kernels while the host uses unified memory (they lack concurrent
/// managed access): there the buffer is tied to its stream, and work on that stream is refused with
/// [`Error::HostAccess`](crate::error::Error::HostAccess) while such a view is alive. A stream that was made with
/// cudarc can get work from elsewhere, so on those devices it has no unified memory.
#[derive(Debug)]
pub struct UnifiedBuffer<T> {
    shared: HostShared<T>,
}

buffer_methods!(UnifiedBuffer);

impl<T: Pod> UnifiedBuffer<T> {
    /// Unified memory for `len` elements, all bytes zero.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::error::Error::TooLarge),
    /// [`Error::OutOfMemory`](crate::error::Error::OutOfMemory);
    /// [`Error::Unsupported`](crate::error::Error::Unsupported) without concurrent managed access on a stream that was
    /// made elsewhere.
    pub fn zeros(stream: &Stream, len: usize, attach: Attach) -> Result<Self> {
        stream.check_unified()?;
        let bytes = byte_size::<T>(len)?;
        let memory = match bytes {
            0 => None,
            _ => {
                stream.check_allocation()?;
                Some(stream.backend().allocate_unified(bytes, attach == Attach::Host)?)
            }
        };
        let attached = attach == Attach::Host || !stream.device().properties().concurrent_managed_access;
        let place = memory.map(|memory| Place::Unified { memory, attached });
        let buffer = Self { shared: HostShared::new(stream, place, len) };
        if let Some(memory) = memory {
            if attached {
                stream.submit(|backend, raw| backend.attach_to_stream(raw, memory))?;
            }
            let _idle = stream.keep_idle()?;
            // SAFETY: a fresh allocation of that size, which nobody else knows; the view keeps the device off it. There
            // are no elements to refer to before they are written.
            unsafe { memory.host.write_bytes(0, bytes as usize) };
        }
        Ok(buffer)
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

    /// Starts moving the memory to the device, ahead of its use there. Only a hint: it changes no result.
    ///
    /// # Errors
    /// [`Error::Capturing`](crate::error::Error::Capturing) while the stream's work is captured into a graph; an error
    /// of the driver.
    pub fn prefetch_to_device(&self) -> Result<()> {
        self.prefetch(true)
    }

    /// Starts moving the memory to the host, ahead of its use there. Only a hint: it changes no result.
    ///
    /// # Errors
    /// As [`prefetch_to_device`](Self::prefetch_to_device).
    pub fn prefetch_to_host(&self) -> Result<()> {
        self.prefetch(false)
    }

    fn prefetch(&self, to_device: bool) -> Result<()> {
        let stream = self.shared.stream();
        match self.shared.allocation().and_then(|allocation| allocation.host()) {
            // Devices without concurrent access move whole buffers at a launch and refuse to prefetch.
            Some(memory) if stream.device().properties().concurrent_managed_access => {
                let bytes = byte_size::<T>(self.len())?;
                stream.check_not_capturing("moving memory ahead of its use", "Do it before the capture, or after")?;
                stream.submit(|backend, raw| backend.prefetch(raw, memory, bytes, to_device))
            }
            _ => Ok(()),
        }
    }
}

impl<T> UnifiedBuffer<T> {
    fn parts(&self) -> (&Stream, Option<&Arc<Allocation>>, usize) {
        self.shared.parts()
    }

    fn change_stream(&mut self, stream: &Stream) -> Result<()> {
        stream.check_unified()?;
        self.shared.change_stream(stream)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::device::Device;
    use crate::error::Error;

    #[test]
    #[cfg(feature = "sim")]
    fn a_foreign_stream_has_no_unified_memory_without_concurrent_access() {
        for (selector, allowed) in [("sim", true), ("sim:managed=exclusive", false)] {
            let device = Device::open(selector).unwrap();
            let own = device.stream().unwrap();
            // The same stream, as somebody else's: as `Stream::from_cudarc` makes it.
            let foreign = Stream::from_raw(&device, own.raw(), Some(Arc::new(own.clone())));
            for attach in [Attach::Global, Attach::Host] {
                for len in [0, 4] {
                    UnifiedBuffer::<u8>::zeros(&own, len, attach).unwrap();
                    match UnifiedBuffer::<u8>::zeros(&foreign, len, attach) {
                        Ok(buffer) => assert!(allowed && buffer.host().unwrap().len() == len),
                        Err(error) => {
                            assert!(!allowed && matches!(error, Error::Unsupported { .. }), "{error:?}");
                            assert!(error.to_string().contains("Use a stream of `Device::stream`"), "{error}");
                        }
                    }
                    // Nor by moving there.
                    let mut buffer = UnifiedBuffer::<u8>::zeros(&own, len, attach).unwrap();
                    assert_eq!(buffer.move_to(&foreign).is_ok(), allowed);
                    assert!(buffer.stream() == if allowed { &foreign } else { &own });
                }
            }
        }
    }
}
