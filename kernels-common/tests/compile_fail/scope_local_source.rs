//! The source of a copy ends before the scope waits.

use kernels_common::{error::Result, memory::DeviceBuffer, stream::Stream};

pub fn test(stream: &Stream, buffer: &mut DeviceBuffer<f32>) -> Result<()> {
    stream.scope(|scope| {
        let host = vec![1.0; 100];
        scope.copy_to_device(&host, buffer.as_slice_mut())
    })
}

fn main() {}
