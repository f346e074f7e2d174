//! Nothing of ours gets into a graph that somebody else captures: its work would be done later, and again, when the
//! memory may be gone. Needs a GPU; without one each test says so and ends.

#![cfg(feature = "cuda")]

use std::sync::Arc;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, CudaStream};
use kernels_common::device::Device;
use kernels_common::error::{Error, Result};
use kernels_common::graph::Graph;
use kernels_common::memory::{DeviceBuffer, PinnedBuffer, PinnedKind};
use kernels_common::stream::Stream;

/// A device, a cudarc stream, and the same stream on this side.
fn shared() -> Option<(Device, Arc<CudaStream>, Stream)> {
    // This says why there is no GPU; cudarc would panic where there is no driver.
    if let Err(error) = Device::open("cuda") {
        println!("skipped: {error}");
        return None;
    }
    let context = CudaContext::new(0).unwrap();
    let theirs = context.new_stream().unwrap();
    let device = Device::from_cudarc(context).unwrap();
    let ours = Stream::from_cudarc(&device, theirs.clone()).unwrap();
    Some((device, theirs, ours))
}

fn begin(stream: &CudaStream) {
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
}

/// Ends a capture, in which nothing was recorded.
fn end(stream: &Arc<CudaStream>) {
    let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    stream.end_capture(flags).expect("the capture is still valid");
}

fn refused<T>(outcome: Result<T>) {
    match outcome {
        Err(Error::Unsupported { .. }) => {}
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("took part in a capture"),
    }
}

#[test]
fn a_captured_stream_takes_no_work() {
    let Some((device, theirs, ours)) = shared() else { return };
    let mut buffer = ours.upload(&[1u32, 2, 3]).unwrap();
    let pinned = PinnedBuffer::<u32>::zeros(&ours, 3, PinnedKind::Cached).unwrap();
    let outside = device.stream().unwrap();
    let event = outside.record().unwrap();
    let mut graph = Graph::capture(&ours, (), |()| Ok::<_, Error>(())).unwrap();
    begin(&theirs);
    refused(graph.launch());
    refused(buffer.as_slice_mut().copy_from_slice(pinned.as_slice()));
    refused(buffer.download());
    refused(ours.alloc_uninit::<u32>(3));
    refused(ours.record());
    refused(ours.wait(&event));
    refused(buffer.move_to(&outside));
    end(&theirs);
    // Nothing was done, and all goes on.
    assert_eq!(buffer.download().unwrap(), [1, 2, 3]);
    buffer.move_to(&outside).unwrap();
    assert_eq!(buffer.download().unwrap(), [1, 2, 3]);
}

#[test]
fn memory_of_a_captured_stream_is_not_shared() {
    let Some((device, theirs, _)) = shared() else { return };
    let outside = device.stream().unwrap();
    let mut slice = theirs.clone_htod(&[1u32, 2, 3]).unwrap();
    let buffer = outside.upload(&[5u32]).unwrap();
    begin(&theirs);
    refused(outside.lend(&slice.as_view(), |_| Ok(())));
    refused(outside.lend(&mut slice.as_view_mut(), |_| Ok(())));
    refused(buffer.into_cudarc(&theirs));
    // The stream outside has not become part of the capture.
    assert_eq!(outside.upload(&[6u32]).unwrap().download().unwrap(), [6]);
    end(&theirs);
    assert_eq!(outside.lend(&slice.as_view(), |slice| slice.download()).unwrap(), [1, 2, 3]);
}

#[test]
fn memory_of_a_captured_stream_is_not_taken_over() {
    let Some((device, theirs, _)) = shared() else { return };
    let outside = device.stream().unwrap();
    let slice = theirs.clone_htod(&[1u32, 2, 3]).unwrap();
    begin(&theirs);
    refused(DeviceBuffer::from_cudarc(&outside, slice));
    assert_eq!(outside.upload(&[6u32]).unwrap().download().unwrap(), [6]);
    // The refused slice was freed on the captured stream, which cudarc does not promise to survive.
    let _ = theirs.end_capture(CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
}
