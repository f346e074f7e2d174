//! One buffer as input and output of one call.

use kernels_common::{error::Result, memory::DeviceBuffer};

pub fn test(buffer: &mut DeviceBuffer<f32>) -> Result<()> {
    buffer.as_slice_mut().copy_from_slice(buffer.as_slice())
}

fn main() {}
