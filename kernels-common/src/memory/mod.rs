//! Memory: on the device, page-locked on the host, and shared by both; and borrowed parts of it.
//!
//! The rule that keeps safe code sound although work runs later: device memory is touched by stream work only, and
//! every buffer holds its stream. Operations refuse buffers of other streams, and a buffer is freed in stream order.
//! A borrow therefore needs to last only for the call that queues the work. Memory that the host can see
//! ([`PinnedBuffer`], [`UnifiedBuffer`]) waits for its stream before it hands out a host reference and before it is
//! freed. A [`Graph`](crate::graph::Graph) shares the ownership of all memory that its work uses.

pub(crate) mod allocation;
mod device_buffer;
mod host_shared;
mod host_value;
mod matrix;
mod methods;
mod pinned;
mod slice;
mod unified;

pub use device_buffer::DeviceBuffer;
pub use host_shared::{HostSlice, HostSliceMut};
pub use host_value::HostValue;
pub use matrix::{Matrix, MatrixMut};
pub use pinned::{PinnedBuffer, PinnedKind};
pub use slice::{Slice, SliceMut};
pub use unified::{Attach, UnifiedBuffer};

use crate::error::{Error, Result};
use methods::buffer_methods;

/// The size in bytes of `len` elements of `T`.
pub(crate) fn byte_size<T>(len: usize) -> Result<u64> {
    // Slices of more than isize::MAX bytes do not exist on the host, and no device has as much either.
    let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| isize::try_from(bytes).is_ok());
    bytes.map(|bytes| bytes as u64).ok_or(Error::TooLarge {
        what: "the number of elements",
        asked: len as u64,
        maximum: isize::MAX as u64 / size_of::<T>().max(1) as u64,
    })
}
