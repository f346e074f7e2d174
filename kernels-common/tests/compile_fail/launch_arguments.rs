//! A buffer and a `usize` are no arguments of a kernel, and one slice is no tuple.

use kernels_common::{error::Result, launch::LaunchConfig, memory::DeviceBuffer, module::Kernel};

pub unsafe fn test(kernel: &Kernel, x: &DeviceBuffer<f32>) -> Result<()> {
    let config = LaunchConfig::linear(1, 1);
    unsafe {
        kernel.launch(config, (x, 1u64))?;
        kernel.launch(config, (x.as_slice(), x.len()))?;
        kernel.launch(config, x.as_slice())
    }
}

fn main() {}
