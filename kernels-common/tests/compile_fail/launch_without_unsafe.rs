//! A kernel is launched without anybody answering for what it touches.

use kernels_common::{error::Result, launch::LaunchConfig, memory::SliceMut, module::Kernel};

pub fn test(kernel: &Kernel, output: SliceMut<'_, f32>) -> Result<()> {
    kernel.launch(LaunchConfig::linear(1, 1), (output,))
}

fn main() {}
