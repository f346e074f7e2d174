//! The host writes to a slice while a copy reads it.

use kernels_common::{error::Result, memory::DeviceBuffer, stream::Stream};

pub fn test(stream: &Stream, buffer: &mut DeviceBuffer<f32>, host: &mut [f32]) -> Result<()> {
    stream.scope(|scope| {
        scope.copy_to_device(host, buffer.as_slice_mut())?;
        host[9999] = 1.0;
        Ok(())
    })
}

fn main() {}
