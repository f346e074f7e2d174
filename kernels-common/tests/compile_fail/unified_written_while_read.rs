//! The device writes unified memory that the host is reading.

use kernels_common::{error::Result, memory::UnifiedBuffer};

pub fn test(buffer: &mut UnifiedBuffer<f32>) -> Result<f32> {
    let host = buffer.host()?;
    buffer.as_slice_mut().fill_zero()?;
    Ok(host[0])
}

fn main() {}
