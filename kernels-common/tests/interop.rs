//! Sharing contexts, streams and memory with cudarc. Needs a GPU; without one each test says so and ends, unless
//! `KERNELS_DEVICE` asks for one.

#![cfg(feature = "cuda")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::Arc;

use kernels_common::device::Device;
use kernels_common::error::{Error, Result};
use kernels_common::graph::Graph;
use kernels_common::interop::cudarc::driver::sys::{CUcontext, CUdevice, culib};
use kernels_common::interop::cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::{DeviceBuffer, SliceMut};
use kernels_common::module::{self, Kernel};
use kernels_common::stream::Stream;
use kernels_common::testing;

/// Adds one to an element, after a million steps that keep the stream busy for some milliseconds: whoever does not wait
/// sees the old value.
const SLOW_INCREMENT: &str = "\
.version 6.4
.target sm_75
.address_size 64

.visible .entry slow_increment(.param .u64 .ptr .global .align 4 x)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, 0;
    mov.u32 %r2, 1;
LOOP:
    mul.lo.u32 %r2, %r2, 1664525;
    add.u32 %r2, %r2, 1013904223;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 1000000;
    @%p1 bra LOOP;
    ld.global.u32 %r3, [%rd1];
    add.u32 %r3, %r3, 1;
    // Never so, but the compiler cannot know it and leave out the loop.
    setp.eq.u32 %p1, %r2, 305419896;
    @%p1 add.u32 %r3, %r3, 1;
    st.global.u32 [%rd1], %r3;
    ret;
}
";

/// What a program that uses cudarc has: a context, a stream of its own, and the device made of them.
struct Theirs {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    device: Device,
}

fn theirs() -> Option<Theirs> {
    // This says why there is no GPU; cudarc would panic where there is no driver.
    let ordinal = testing::gpu()?.to_cudarc().unwrap().ordinal();
    let context = CudaContext::new(ordinal).unwrap();
    let stream = context.new_stream().unwrap();
    let device = Device::from_cudarc(Arc::clone(&context)).unwrap();
    Some(Theirs { context, stream, device })
}

/// Another context of the same GPU. Cudarc makes one by itself only for some versions of CUDA.
fn second_context(first: &CudaContext) -> Arc<CudaContext> {
    type Create = unsafe extern "C" fn(*mut CUcontext, u32, CUdevice) -> i32;
    // SAFETY: the function has this type. It gives a context of the device that nobody else owns.
    unsafe {
        let create = culib().get::<Create>("cuCtxCreate_v2").unwrap();
        let mut context = null_mut();
        assert_eq!(create(&mut context, 0, first.cu_device()), 0);
        CudaContext::from_raw_context(first.ordinal(), first.cu_device(), context).unwrap()
    }
}

fn slow_increment(stream: &Stream) -> Kernel {
    let [kernel] = module::load_text(stream, "slow.ptx", SLOW_INCREMENT, ["slow_increment"]).unwrap();
    kernel
}

fn increment(kernel: &Kernel, x: SliceMut<'_, u32>) -> Result<()> {
    // SAFETY: the kernel uses the first element alone, and ends.
    unsafe { kernel.launch(LaunchConfig::linear(1, 1), (x,)) }
}

#[test]
fn a_context_and_a_stream_are_shared() {
    let Some(Theirs { context, stream: theirs, device }) = theirs() else { return };
    assert_eq!(device.to_cudarc().unwrap(), context);
    let stream = Stream::from_cudarc(&device, Arc::clone(&theirs)).unwrap();
    assert!(Arc::ptr_eq(&stream.to_cudarc().unwrap(), &theirs));
    assert_eq!(stream.cu_stream(), Some(theirs.cu_stream()));
    let ours = device.stream().unwrap();
    assert!(ours.to_cudarc().is_none());
    assert!(ours.cu_stream().is_some_and(|handle| handle != theirs.cu_stream()));

    let mut x = stream.upload(&[41u32]).unwrap();
    increment(&slow_increment(&stream), x.as_slice_mut()).unwrap();
    // The same stream: no event is needed.
    let x = x.into_cudarc(&theirs).unwrap();
    assert_eq!(theirs.clone_dtoh(&x).unwrap(), [42]);

    // Our handles may go first, in any order.
    drop((device, stream, context));
    assert_eq!(theirs.clone_dtoh(&x).unwrap(), [42]);
}

#[test]
#[cfg(feature = "sim")]
fn the_simulator_has_no_handles() {
    let simulator = Device::open("sim").unwrap();
    assert_eq!(simulator.stream().unwrap().cu_stream(), None);
}

#[test]
fn the_default_streams() {
    let Some(Theirs { context, device, .. }) = theirs() else { return };
    let stream = Stream::from_cudarc(&device, context.default_stream()).unwrap();
    assert_eq!(stream.upload(&[1u8, 2, 3]).unwrap().download().unwrap(), [1, 2, 3]);
    let error = Stream::from_cudarc(&device, context.per_thread_stream()).unwrap_err();
    assert!(error.to_string().contains("per-thread default stream"), "{error}");
}

#[test]
fn a_copy_on_the_default_stream_is_seen_by_a_kernel_on_another() {
    const LEN: usize = 100_000;
    let Some(Theirs { context, device, .. }) = theirs() else { return };
    let default = Stream::from_cudarc(&device, context.default_stream()).unwrap();
    let ours = device.stream().unwrap();
    let kernel = slow_increment(&ours);
    let mut host = vec![0u32; LEN];
    let mut x = default.alloc_zeros::<u32>(LEN).unwrap();
    for round in 0..100 {
        host.fill(round);
        default
            .scope(|scope| {
                scope.copy_to_device(&host, x.as_slice_mut())?;
                x.move_to(&ours)?;
                increment(&kernel, x.slice_mut(LEN - 1..)?)
            })
            .unwrap();
        assert_eq!(x.slice(LEN - 2..).unwrap().download().unwrap(), [round, round + 1]);
        x.move_to(&default).unwrap();
    }
}

#[test]
fn another_context_is_refused() {
    let Some(Theirs { context, device, .. }) = theirs() else { return };
    let theirs = second_context(&context).new_stream().unwrap();
    let slice = theirs.clone_htod(&[1.0f32]).unwrap();
    let ours = device.stream().unwrap();

    let refused = |result: Result<()>| match result {
        Err(Error::ContextMismatch { what, .. }) => assert!(!what.is_empty()),
        result => panic!("{result:?}"),
    };
    refused(Stream::from_cudarc(&device, Arc::clone(&theirs)).map(drop));
    refused(ours.lend(&slice.as_view(), |_| unreachable!()));
    refused(DeviceBuffer::from_cudarc(&ours, slice).map(drop));
    refused(ours.upload(&[1.0f32]).unwrap().into_cudarc(&theirs).map(drop));
    if let Ok(simulator) = Device::open("sim") {
        refused(Stream::from_cudarc(&simulator, theirs).map(drop));
        assert!(simulator.to_cudarc().is_none());
    }
}

#[test]
fn slices_change_hands_without_a_copy() {
    let Some(Theirs { stream: theirs, device, .. }) = theirs() else { return };
    let ours = device.stream().unwrap();
    let kernel = slow_increment(&ours);
    let theirs_first = Stream::from_cudarc(&device, Arc::clone(&theirs)).unwrap();
    let slow_there = slow_increment(&theirs_first);
    for round in 0..20u32 {
        let mut slice = theirs.clone_htod(&[round]).unwrap();
        // Slow work there, then here, then there again, never waited for by the host.
        theirs_first.lend(&mut slice.as_view_mut(), |x| increment(&slow_there, x)).unwrap();
        let mut buffer = DeviceBuffer::from_cudarc(&ours, slice).unwrap();
        let address = buffer.as_slice().address();
        increment(&kernel, buffer.as_slice_mut()).unwrap();
        let mut slice = buffer.into_cudarc(&theirs).unwrap();
        theirs_first
            .lend(&mut slice.as_view_mut(), |x| {
                assert_eq!(x.address(), address);
                increment(&slow_there, x)
            })
            .unwrap();
        assert_eq!(theirs.clone_dtoh(&slice).unwrap(), [round + 3]);
    }
}

#[test]
fn empty_slices_change_hands() {
    let Some(Theirs { stream: theirs, device, .. }) = theirs() else { return };
    let ours = device.stream().unwrap();
    let slice: CudaSlice<f32> = ours.upload::<f32>(&[]).unwrap().into_cudarc(&theirs).unwrap();
    assert!(slice.is_empty());
    ours.lend(&slice.as_view(), |slice| {
        assert!(slice.is_empty());
        Ok::<_, Error>(())
    })
    .unwrap();
    let buffer = DeviceBuffer::from_cudarc(&ours, slice).unwrap();
    assert!(buffer.is_empty() && buffer.download().unwrap().is_empty());
    drop(buffer);
    theirs.synchronize().unwrap();
}

#[test]
fn a_loan_waits_at_both_ends() {
    let Some(Theirs { context, stream: theirs, device }) = theirs() else { return };
    let ours = device.stream().unwrap();
    let kernel = slow_increment(&ours);
    let beside = context.new_stream().unwrap();
    let beside_here = Stream::from_cudarc(&device, Arc::clone(&beside)).unwrap();
    let slow_beside = slow_increment(&beside_here);
    let mut x = theirs.clone_htod(&[0u32; 3]).unwrap();
    for round in 1..20 {
        // Written on a third stream first, which cudarc tracks by an event.
        beside_here.lend(&mut x.slice_mut(1..2), |x| increment(&slow_beside, x)).unwrap();
        ours.lend(&mut x.slice_mut(1..), |x| increment(&kernel, x)).unwrap();
        // Read by cudarc on its stream and on the third.
        assert_eq!(theirs.clone_dtoh(&x).unwrap(), [0, 2 * round, 0]);
        ours.lend(&mut x.slice_mut(2..), |x| increment(&kernel, x)).unwrap();
        assert_eq!(beside.clone_dtoh(&x).unwrap(), [0, 2 * round, 1]);
        theirs.memcpy_htod(&[0u32], &mut x.slice_mut(2..)).unwrap();
    }
}

#[test]
fn a_reading_loan_holds_up_later_writes() {
    let Some(Theirs { context, stream: theirs, device }) = theirs() else { return };
    let ours = device.stream().unwrap();
    let kernel = slow_increment(&ours);
    let beside = context.new_stream().unwrap();
    let mut busy = ours.alloc_zeros::<u32>(1).unwrap();
    let mut copy = ours.alloc_zeros::<u32>(1 << 20).unwrap();
    let mut x = theirs.clone_htod(&vec![7u32; 1 << 20]).unwrap();
    for _ in 0..10 {
        ours.lend(&x.as_view(), |x| {
            increment(&kernel, busy.as_slice_mut())?;
            copy.as_slice_mut().copy_from_slice(x)
        })
        .unwrap();
        // On a stream that is neither the slice's nor ours.
        beside.memset_zeros(&mut x).unwrap();
        assert!(copy.download().unwrap().iter().all(|&x| x == 7));
        theirs.memcpy_htod(&vec![7u32; 1 << 20], &mut x).unwrap();
    }
}

#[test]
fn a_loan_between_two_objects_of_one_context() {
    // The primary context, held by cudarc twice: events must be tracked by the one that the slice knows.
    let Some(Theirs { stream: theirs, context, .. }) = theirs() else { return };
    let device = testing::gpu().unwrap();
    let ours = device.stream().unwrap();
    let kernel = slow_increment(&ours);
    let beside = context.new_stream().unwrap();
    let mut x = theirs.clone_htod(&[0u32]).unwrap();
    for round in 1..20 {
        ours.lend(&mut x.as_view_mut(), |x| increment(&kernel, x)).unwrap();
        assert_eq!(beside.clone_dtoh(&x).unwrap(), [round]);
    }
}

#[test]
fn a_loan_ends_with_a_fence_when_its_work_panics_or_fails() {
    let Some(Theirs { stream: theirs, device, .. }) = theirs() else { return };
    let ours = device.stream().unwrap();
    let kernel = slow_increment(&ours);
    let mut x = theirs.clone_htod(&[0u32]).unwrap();
    for round in 0..10 {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            ours.lend(&mut x.as_view_mut(), |x| -> Result<()> {
                increment(&kernel, x)?;
                panic!("on purpose");
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(theirs.clone_dtoh(&x).unwrap(), [2 * round + 1]);
        let failed = ours.lend(&mut x.as_view_mut(), |x| {
            increment(&kernel, x)?;
            Err::<(), _>(Error::StreamMismatch { what: "a test" })
        });
        assert!(matches!(failed, Err(Error::StreamMismatch { what: "a test" })));
        assert_eq!(theirs.clone_dtoh(&x).unwrap(), [2 * round + 2]);
    }
}

#[test]
fn the_fences_of_a_loan_do_not_need_event_tracking() {
    let Some(Theirs { context, .. }) = theirs() else { return };
    // A context object of its own: what is switched off here stays on elsewhere.
    let context = CudaContext::new(context.ordinal()).unwrap();
    // SAFETY: below, the slice is used on its own stream only, and on others by loans.
    unsafe { context.disable_event_tracking() };
    let theirs = context.new_stream().unwrap();
    let device = Device::from_cudarc(Arc::clone(&context)).unwrap();
    let theirs_here = Stream::from_cudarc(&device, Arc::clone(&theirs)).unwrap();
    let slow_there = slow_increment(&theirs_here);
    let ours = device.stream().unwrap();
    let kernel = slow_increment(&ours);
    let mut x = theirs.clone_htod(&[0u32]).unwrap();
    for round in 0..20 {
        theirs_here.lend(&mut x.as_view_mut(), |x| increment(&slow_there, x)).unwrap();
        ours.lend(&mut x.as_view_mut(), |x| increment(&kernel, x)).unwrap();
        assert_eq!(theirs.clone_dtoh(&x).unwrap(), [3 * round + 2]);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            ours.lend(&mut x.as_view_mut(), |x| -> Result<()> {
                increment(&kernel, x)?;
                panic!("on purpose");
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(theirs.clone_dtoh(&x).unwrap(), [3 * round + 3]);
    }
}

#[test]
fn lent_slices_belong_to_the_borrowing_stream() {
    let Some(Theirs { stream: theirs, device, .. }) = theirs() else { return };
    let (ours, other) = (device.stream().unwrap(), device.stream().unwrap());
    let x = theirs.clone_htod(&[1.0f32, 2.0, 3.0]).unwrap();
    let mut y = other.alloc_zeros::<f32>(3).unwrap();
    let error = ours.lend(&x.as_view(), |x| y.as_slice_mut().copy_from_slice(x)).unwrap_err();
    assert!(matches!(error, Error::StreamMismatch { .. }), "{error:?}");
    assert_eq!(ours.lend(&x.slice(1..), |x| x.download()).unwrap(), [2.0, 3.0]);
}

#[test]
fn several_slices_are_lent_at_once_and_work_fails_with_errors_of_its_own() {
    type Anything = Box<dyn std::error::Error>;
    let Some(Theirs { context, stream: theirs, device }) = theirs() else { return };
    let (ours, beside) = (device.stream().unwrap(), context.new_stream().unwrap());
    let kernel = slow_increment(&ours);
    let x = theirs.clone_htod(&[1u32, 2, 3]).unwrap();
    let z = beside.clone_htod(&[10u32]).unwrap();
    let mut y = theirs.alloc_zeros::<u32>(4).unwrap();
    for _ in 0..10 {
        let (mut left, mut right) = y.split_at_mut(1);
        let lengths = ours
            .lend((&x, &z.as_view(), &mut left, &mut right), |(x, z, mut left, mut right)| {
                right.copy_from_slice(x)?;
                left.copy_from_slice(z)?;
                increment(&kernel, left)?;
                Ok::<_, Anything>((x.len(), z.len()))
            })
            .unwrap();
        assert_eq!(lengths, (3, 1));
        assert_eq!(theirs.clone_dtoh(&y).unwrap(), [11, 1, 2, 3]);
        theirs.memset_zeros(&mut y).unwrap();
    }
    let failed = ours.lend((&x, &mut y), |(_, y)| {
        increment(&kernel, y)?;
        "x".parse::<u32>().map_err(Anything::from)
    });
    assert!(failed.unwrap_err().is::<std::num::ParseIntError>());
    // The loan ended with a fence all the same.
    assert_eq!(theirs.clone_dtoh(&y).unwrap(), [1, 0, 0, 0]);
    let theirs = second_context(&context).new_stream().unwrap();
    let elsewhere = theirs.clone_htod(&[1u32]).unwrap();
    let refused = ours.lend((&x, &elsewhere), |_| -> Result<()> { unreachable!() });
    assert!(matches!(refused, Err(Error::ContextMismatch { .. })));
}

#[test]
fn a_graph_on_a_stream_of_cudarc() {
    let Some(Theirs { context, stream: theirs, device }) = theirs() else { return };
    for theirs in [theirs, context.default_stream()] {
        let stream = Stream::from_cudarc(&device, Arc::clone(&theirs)).unwrap();
        let resources = (slow_increment(&stream), stream.upload(&[0u32]).unwrap());
        let mut graph = Graph::capture(&stream, resources, |(kernel, x)| {
            increment(kernel, x.as_slice_mut())?;
            increment(kernel, x.as_slice_mut())
        })
        .unwrap();
        // In one order with what cudarc gives to the stream.
        let mut seen = theirs.alloc_zeros::<u32>(1).unwrap();
        for round in 1..4 {
            graph.launch().unwrap();
            let x = graph.resources().1.as_slice();
            stream.lend(&mut seen.as_view_mut(), |mut seen| seen.copy_from_slice(x)).unwrap();
            assert_eq!(theirs.clone_dtoh(&seen).unwrap(), [2 * round]);
        }
        // Memory that is only lent is no part of a graph.
        let lent = graph.update({
            let (stream, seen) = (stream.clone(), theirs.alloc_zeros::<u32>(1).unwrap());
            move |(_, x)| stream.lend(&seen.as_view(), |seen| x.as_slice_mut().copy_from_slice(seen))
        });
        assert!(matches!(lent, Err(Error::Unsupported { .. })), "{lent:?}");
        // Memory of a graph is not given away, but it is after the graph.
        let empty = stream.alloc_uninit::<u32>(0).unwrap();
        let given = std::mem::replace(&mut graph.resources_mut().1, empty).into_cudarc(&theirs);
        assert!(matches!(given, Err(Error::InGraph { .. })));
        graph.launch().unwrap();
        let (kernel, _) = graph.into_resources();
        let x = stream.upload(&[7u32]).unwrap();
        let mut graph =
            Graph::capture(&stream, (kernel, x), |(kernel, x)| increment(kernel, x.as_slice_mut())).unwrap();
        graph.launch().unwrap();
        let x = graph.into_resources().1.into_cudarc(&theirs).unwrap();
        assert_eq!(theirs.clone_dtoh(&x).unwrap(), [8]);
    }
}
