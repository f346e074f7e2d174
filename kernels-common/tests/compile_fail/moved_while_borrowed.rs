//! A buffer goes to another stream while a slice of it is at hand.

use kernels_common::{error::Result, memory::DeviceBuffer, stream::Stream};

pub fn test(buffer: &mut DeviceBuffer<f32>, other: &Stream) -> Result<Vec<f32>> {
    let slice = buffer.as_slice();
    buffer.move_to(other)?;
    slice.download()
}

fn main() {}
