//! A slice is used after its buffer was dropped.

use kernels_common::{error::Result, memory::DeviceBuffer};

pub fn test(buffer: DeviceBuffer<f32>) -> Result<Vec<f32>> {
    let slice = buffer.as_slice();
    drop(buffer);
    slice.download()
}

fn main() {}
