//! The device reads unified memory that the host is writing.

use kernels_common::{error::Result, memory::DeviceBuffer, memory::UnifiedBuffer};

pub fn test(buffer: &mut UnifiedBuffer<f32>, target: &mut DeviceBuffer<f32>) -> Result<()> {
    let mut host = buffer.host_mut()?;
    target.as_slice_mut().copy_from_slice(buffer.as_slice())?;
    host[0] = 1.0;
    Ok(())
}

fn main() {}
