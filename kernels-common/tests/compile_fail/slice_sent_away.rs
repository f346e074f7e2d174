//! A slice goes to a thread that may outlive the buffer.

use kernels_common::memory::DeviceBuffer;

/// What `std::thread::spawn` asks of its closure.
fn spawn(_: impl FnOnce() + Send + 'static) {}

pub fn test(buffer: DeviceBuffer<f32>) {
    let slice = buffer.as_slice();
    spawn(move || drop(slice.download()));
}

fn main() {}
