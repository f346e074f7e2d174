//! A thread uses the scope, and so the borrowed memory, after the scope has ended.

use kernels_common::{error::Result, memory::DeviceBuffer, stream::Stream};

pub fn test(stream: &Stream, buffer: &DeviceBuffer<f32>, output: &mut [f32]) -> Result<()> {
    std::thread::scope(|threads| {
        stream.scope(|scope| {
            threads.spawn(move || scope.copy_to_host(buffer.as_slice(), output));
            Ok(())
        })
    })
}

fn main() {}
