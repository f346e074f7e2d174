//! A host view is used after its buffer, and with it the memory, is gone.

use kernels_common::{error::Result, memory::UnifiedBuffer};

pub fn test(buffer: UnifiedBuffer<f32>) -> Result<f32> {
    let view = buffer.host()?;
    drop(buffer);
    Ok(view[0])
}

fn main() {}
