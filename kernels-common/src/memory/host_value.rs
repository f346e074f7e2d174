//! A value that a kernel hands to the host.

use bytemuck::Pod;

use crate::error::Result;
use crate::memory::{PinnedBuffer, PinnedKind, SliceMut};
use crate::stream::Stream;

/// Room for one value in memory of the host that kernels write to, so that nothing has to be copied when the kernel is
/// done: the shortest way from a launch to a value.
///
/// The memory is there from the first use on. Who never asks for a value pays nothing, neither here nor when it is
/// dropped, which waits for the stream as with any [`PinnedBuffer`].
///
/// ```
/// use kernels_common::device::Device;
/// use kernels_common::memory::HostValue;
///
/// let stream = Device::open("sim")?.stream()?;
/// let mut value = HostValue::<f32>::new(&stream);
/// value.slot()?.fill_zero()?; // in place of a kernel
/// assert_eq!(value.wait()?, 0.0);
/// # Ok::<(), kernels_common::error::Error>(())
/// ```
#[derive(Debug)]
pub struct HostValue<T> {
    stream: Stream,
    buffer: Option<PinnedBuffer<T>>,
}

impl<T: Pod> HostValue<T> {
    /// Room for a value of work on `stream`.
    #[must_use]
    pub fn new(stream: &Stream) -> Self {
        Self { stream: stream.clone(), buffer: None }
    }

    /// Where the work has to write the value: one element.
    ///
    /// # Errors
    /// [`OutOfMemory`](crate::error::Error::OutOfMemory).
    pub fn slot(&mut self) -> Result<SliceMut<'_, T>> {
        Ok(self.buffer()?.as_slice_mut())
    }

    /// Waits for the stream and gives the value that was written last, or all bytes zero.
    ///
    /// # Errors
    /// [`Capturing`](crate::error::Error::Capturing) while the stream's work is captured into a graph; an error that
    /// the stream's work met; as [`slot`](Self::slot).
    pub fn wait(&mut self) -> Result<T> {
        Ok(self.buffer()?.host()?[0])
    }

    fn buffer(&mut self) -> Result<&mut PinnedBuffer<T>> {
        match &mut self.buffer {
            Some(buffer) => Ok(buffer),
            none => Ok(none.insert(PinnedBuffer::zeros(&self.stream, 1, PinnedKind::Cached)?)),
        }
    }
}
