//! The host reads the target of a copy before the copy is waited for.

use kernels_common::{error::Result, memory::DeviceBuffer, stream::Stream};

pub fn test(stream: &Stream, buffer: &DeviceBuffer<f32>, host: &mut [f32]) -> Result<Vec<f32>> {
    stream.scope(|scope| {
        scope.copy_to_host(buffer.as_slice(), host)?;
        Ok(host.to_vec())
    })
}

fn main() {}
