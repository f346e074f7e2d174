//! A buffer is used after it gave up its memory.

use kernels_common::{error::Result, memory::DeviceBuffer};

pub fn test(buffer: DeviceBuffer<f32>) -> Result<Vec<f32>> {
    let (_address, _len) = DeviceBuffer::into_raw(buffer);
    buffer.download()
}

fn main() {}
