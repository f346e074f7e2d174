//! What all buffers can do, whichever memory they hold.

/// Writes the methods that all buffers share. They stand on two private ones of the buffer:
///
/// - `parts(&self) -> (&Stream, Option<&Arc<Allocation>>, usize)`: its stream, its memory if it has any, and the number
///   of its elements;
/// - `change_stream(&mut self, &Stream) -> Result<()>`: hands it to another stream, or leaves it where it was.
macro_rules! buffer_methods {
    ($buffer:ident) => {
        impl<T: bytemuck::Pod> $buffer<T> {
            /// All elements as the device sees them, to read.
            #[must_use]
            pub fn as_slice(&self) -> $crate::memory::Slice<'_, T> {
                let (stream, allocation, len) = self.parts();
                $crate::memory::Slice::of(stream, allocation, len)
            }

            /// All elements as the device sees them, to write.
            #[must_use]
            pub fn as_slice_mut(&mut self) -> $crate::memory::SliceMut<'_, T> {
                let (stream, allocation, len) = self.parts();
                $crate::memory::SliceMut::of(stream, allocation, len)
            }

            /// The elements of `range` as the device sees them, to read.
            ///
            /// # Errors
            /// [`Error::OutOfRange`](crate::error::Error::OutOfRange).
            pub fn slice(
                &self,
                range: impl std::ops::RangeBounds<usize>,
            ) -> $crate::error::Result<$crate::memory::Slice<'_, T>> {
                self.as_slice().slice(range)
            }

            /// The elements of `range` as the device sees them, to write.
            ///
            /// # Errors
            /// [`Error::OutOfRange`](crate::error::Error::OutOfRange).
            pub fn slice_mut(
                &mut self,
                range: impl std::ops::RangeBounds<usize>,
            ) -> $crate::error::Result<$crate::memory::SliceMut<'_, T>> {
                self.as_slice_mut().slice_mut(range)
            }

            /// Waits for the stream and returns the elements.
            ///
            /// # Errors
            /// [`Error::Capturing`](crate::error::Error::Capturing) while the stream's work is captured into a graph; an
            /// error that earlier work met.
            pub fn download(&self) -> $crate::error::Result<Vec<T>> {
                self.as_slice().download()
            }

            /// Gives the buffer to another stream of the same device. Work that `stream` gets later waits for the work
            /// that the old stream has already; the host waits for nothing.
            ///
            /// # Errors
            /// [`Error::DeviceMismatch`](crate::error::Error::DeviceMismatch) for a stream of another device;
            /// [`Error::InGraph`](crate::error::Error::InGraph) if a graph uses the buffer;
            /// [`Error::Capturing`](crate::error::Error::Capturing) while work of either stream is captured; for
            /// unified memory what its allocation on `stream` would be refused for; an error of the driver. The buffer
            /// then stays where it was.
            pub fn move_to(&mut self, stream: &$crate::stream::Stream) -> $crate::error::Result<()> {
                if self.stream() == stream { Ok(()) } else { self.change_stream(stream) }
            }
        }

        impl<T> $buffer<T> {
            /// Number of elements.
            #[must_use]
            pub fn len(&self) -> usize {
                self.parts().2
            }

            /// Whether there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The stream that the buffer belongs to.
            #[must_use]
            pub fn stream(&self) -> &$crate::stream::Stream {
                self.parts().0
            }
        }

        impl<'a, T: bytemuck::Pod> From<&'a $buffer<T>> for $crate::memory::Slice<'a, T> {
            fn from(buffer: &'a $buffer<T>) -> Self {
                buffer.as_slice()
            }
        }

        impl<'a, T: bytemuck::Pod> From<&'a mut $buffer<T>> for $crate::memory::SliceMut<'a, T> {
            fn from(buffer: &'a mut $buffer<T>) -> Self {
                buffer.as_slice_mut()
            }
        }
    };
}

pub(super) use buffer_methods;
