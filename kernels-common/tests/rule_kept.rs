//! What the programs in `compile_fail` do, done rightly.

use kernels_common::device::Device;
use kernels_common::error::Result;
use kernels_common::memory::{Attach, DeviceBuffer, PinnedBuffer, PinnedKind, UnifiedBuffer};
use kernels_common::stream::Stream;
use kernels_common::testing::devices;

/// Copies that overlap with the host, which uses the slices again after the scope.
fn scopes(stream: &Stream) -> Result<()> {
    let mut source = vec![1.0f32; 100];
    let mut target = vec![0.0f32; 100];
    let mut buffer = stream.alloc_uninit(100)?;
    stream.scope(|scope| {
        scope.copy_to_device(&source, buffer.as_slice_mut())?;
        scope.copy_to_host(buffer.as_slice(), &mut target)
    })?;
    source[99] = 2.0;
    assert_eq!(target, [1.0; 100]);
    Ok(())
}

/// Disjoint parts of one buffer, to write and to read at once.
fn parts(buffer: &mut DeviceBuffer<f32>) -> Result<()> {
    let (mut first, second) = buffer.as_slice_mut().split_at(50)?;
    first.copy_from_slice(second.as_slice())?;
    first.fill_zero()?;
    assert_eq!(buffer.slice(..50)?.download()?, [0.0; 50]);
    Ok(())
}

/// Host views that end before the device works.
fn host_views(stream: &Stream) -> Result<()> {
    let mut pinned = PinnedBuffer::<f32>::zeros(stream, 10, PinnedKind::Cached)?;
    let mut unified = UnifiedBuffer::<f32>::zeros(stream, 10, Attach::Global)?;
    pinned.host_mut()?[0] = 1.0;
    unified.as_slice_mut().copy_from_slice(pinned.as_slice())?;
    assert_eq!(unified.host()?[0], 1.0);
    Ok(())
}

/// A buffer that goes to another thread and stream, with everything it needs.
fn sent(mut buffer: DeviceBuffer<f32>, other: Stream) -> Result<Vec<f32>> {
    std::thread::spawn(move || {
        buffer.move_to(&other)?;
        buffer.download()
    })
    .join()
    .expect("the thread does not panic")
}

fn run(device: &Device) -> Result<()> {
    let stream = device.stream()?;
    scopes(&stream)?;
    host_views(&stream)?;
    let mut buffer = stream.upload(&[1.0f32; 100])?;
    parts(&mut buffer)?;
    let (address, len) = buffer.into_raw();
    // SAFETY: the memory was given up by a buffer of this stream a line ago.
    let buffer = unsafe { DeviceBuffer::<f32>::from_raw(&stream, address, len) };
    assert_eq!(sent(buffer, device.stream()?)?.len(), 100);
    Ok(())
}

#[test]
fn what_keeps_the_rule_compiles_and_runs() {
    for device in devices() {
        run(device).unwrap();
    }
}
