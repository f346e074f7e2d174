//! Two slices to write to one buffer.

use kernels_common::{error::Result, memory::DeviceBuffer};

pub fn test(buffer: &mut DeviceBuffer<f32>) -> Result<()> {
    let mut first = buffer.slice_mut(..10)?;
    let mut second = buffer.slice_mut(10..)?;
    first.fill_zero()?;
    second.fill_zero()
}

fn main() {}
