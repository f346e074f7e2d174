//! Buffers, slices and copies, on every device present.

use kernels_common::device::{BackendKind, Device};
use kernels_common::error::{Error, MemoryKind, Result};
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::{Attach, DeviceBuffer, PinnedBuffer, PinnedKind, Slice, SliceMut, UnifiedBuffer};
use kernels_common::module::{self, Kernel};
use kernels_common::stream::Stream;
use kernels_common::testing::devices;
use proptest::prelude::*;

/// Memory of every kind, one type for all.
#[derive(Debug)]
enum Memory<T> {
    Device(DeviceBuffer<T>),
    Pinned(PinnedBuffer<T>),
    Unified(UnifiedBuffer<T>),
}

impl<T: bytemuck::Pod> Memory<T> {
    /// One of each kind, all bytes zero.
    fn of_every_kind(stream: &Stream, len: usize) -> Vec<Memory<T>> {
        let pinned = [PinnedKind::Cached, PinnedKind::WriteCombined]
            .map(|kind| Memory::Pinned(PinnedBuffer::zeros(stream, len, kind).unwrap()));
        let unified = [Attach::Global, Attach::Host]
            .map(|attach| Memory::Unified(UnifiedBuffer::zeros(stream, len, attach).unwrap()));
        let device = Memory::Device(stream.alloc_zeros(len).unwrap());
        [device].into_iter().chain(pinned).chain(unified).collect()
    }

    fn slice(&self) -> Slice<'_, T> {
        match self {
            Memory::Device(buffer) => buffer.as_slice(),
            Memory::Pinned(buffer) => buffer.as_slice(),
            Memory::Unified(buffer) => buffer.as_slice(),
        }
    }

    fn slice_mut(&mut self) -> SliceMut<'_, T> {
        match self {
            Memory::Device(buffer) => buffer.as_slice_mut(),
            Memory::Pinned(buffer) => buffer.as_slice_mut(),
            Memory::Unified(buffer) => buffer.as_slice_mut(),
        }
    }

    /// Writes as the host writes to such memory.
    fn set(&mut self, values: &[T]) -> Result<()> {
        match self {
            Memory::Device(buffer) => buffer.as_slice_mut().copy_from(values),
            Memory::Pinned(buffer) => buffer.host_mut().map(|mut host| host.copy_from_slice(values)),
            Memory::Unified(buffer) => buffer.host_mut().map(|mut host| host.copy_from_slice(values)),
        }
    }

    /// Reads as the host reads such memory.
    fn get(&self) -> Result<Vec<T>> {
        match self {
            Memory::Device(buffer) => buffer.download(),
            Memory::Pinned(buffer) => buffer.host().map(|host| host.to_vec()),
            Memory::Unified(buffer) => buffer.host().map(|host| host.to_vec()),
        }
    }
}

/// `double(x: *u32, n: u32)`: x[i] += x[i], one element a thread of one block.
const DOUBLE: &str = "\
.version 6.4
.target sm_75
.address_size 64

.visible .entry double(.param .u64 .ptr .global .align 4 x, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 ret;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd2, %rd1, %rd2;
    ld.global.u32 %r3, [%rd2];
    add.u32 %r3, %r3, %r3;
    st.global.u32 [%rd2], %r3;
    ret;
}
";

fn double(stream: &Stream) -> Kernel {
    let [kernel] = module::load_text(stream, "double.ptx", DOUBLE, ["double"]).unwrap();
    kernel
}

fn run_double(kernel: &Kernel, x: SliceMut<'_, u32>) -> Result<()> {
    let n = x.len() as u32;
    assert!(n <= 1024);
    // SAFETY: x has n elements.
    unsafe { kernel.launch(LaunchConfig::linear(1, 1024), (x, n)) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Any sub-range comes back as it was put in, and nothing beside it changes.
    #[test]
    fn copies_keep_to_their_range(
        values in proptest::collection::vec(any::<u64>(), 0..300),
        cut in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        let (a, b) = (cut.0.index(values.len() + 1), cut.1.index(values.len() + 1));
        let range = a.min(b)..a.max(b);
        for device in devices() {
            let stream = device.stream().unwrap();
            let mut buffer = stream.upload(&values).unwrap();
            prop_assert_eq!(&buffer.download().unwrap(), &values);
            prop_assert_eq!(&buffer.slice(range.clone()).unwrap().download().unwrap(), &values[range.clone()]);

            let part: Vec<u64> = values[range.clone()].iter().map(|value| !value).collect();
            buffer.slice_mut(range.clone()).unwrap().copy_from(&part).unwrap();
            let mut expected = values.clone();
            expected[range.clone()].copy_from_slice(&part);
            prop_assert_eq!(&buffer.download().unwrap(), &expected);

            let mut other = stream.alloc_zeros::<u64>(values.len()).unwrap();
            let source = buffer.slice(range.clone()).unwrap();
            other.slice_mut(range.clone()).unwrap().copy_from_slice(source).unwrap();
            let mut expected = vec![0; values.len()];
            expected[range.clone()].copy_from_slice(&part);
            prop_assert_eq!(&other.download().unwrap(), &expected);

            buffer.slice_mut(range.clone()).unwrap().fill_zero().unwrap();
            prop_assert!(buffer.slice(range.clone()).unwrap().download().unwrap().iter().all(|&value| value == 0));
        }
    }
}

#[test]
fn nothing_is_a_fine_length() {
    fn check<T: bytemuck::Pod + PartialEq + std::fmt::Debug>(stream: &Stream) {
        let len = |memory: &Memory<T>| match memory {
            Memory::Device(buffer) => (buffer.len(), buffer.is_empty()),
            Memory::Pinned(buffer) => (buffer.len(), buffer.is_empty()),
            Memory::Unified(buffer) => (buffer.len(), buffer.is_empty()),
        };
        let (mut empty, mut full) = (Memory::<T>::of_every_kind(stream, 0), Memory::<T>::of_every_kind(stream, 8));
        for memory in &mut empty {
            assert_eq!((len(memory), memory.slice().len()), ((0, true), 0));
            memory.set(&[]).unwrap();
            memory.slice_mut().fill_zero().unwrap();
            memory.slice_mut().copy_from(&[]).unwrap();
            memory.slice().copy_to(&mut []).unwrap();
            assert!(memory.get().unwrap().is_empty() && memory.slice().download().unwrap().is_empty());
            stream
                .scope(|scope| {
                    scope.copy_to_device(&[], memory.slice_mut())?;
                    scope.copy_to_host(memory.slice(), &mut [])
                })
                .unwrap();
        }
        // From and to every kind, and from and to no elements of some.
        for from in empty.iter().chain(&full) {
            for to in &mut Memory::<T>::of_every_kind(stream, 0) {
                to.slice_mut().copy_from_slice(from.slice().slice(..0).unwrap()).unwrap();
            }
            for to in &mut Memory::<T>::of_every_kind(stream, 8) {
                for place in [0, 3, 8] {
                    let to = to.slice_mut().slice_mut(place..place).unwrap();
                    let from = from.slice().slice(from.slice().len()..).unwrap();
                    { to }.copy_from_slice(from).unwrap();
                }
                assert_eq!(to.get().unwrap(), [T::zeroed(); 8]);
            }
        }
        for memory in &mut full {
            memory.slice_mut().slice_mut(8..).unwrap().copy_from(&[]).unwrap();
            memory.slice_mut().slice_mut(4..4).unwrap().fill_zero().unwrap();
            assert!(memory.slice().slice(8..).unwrap().download().unwrap().is_empty());
            // As many as are there, or none: not one for nothing.
            assert!(matches!(memory.slice_mut().copy_from(&[]), Err(Error::LengthMismatch { .. })));
        }
        for attach in [Attach::Global, Attach::Host] {
            let unified = UnifiedBuffer::<T>::zeros(stream, 0, attach).unwrap();
            unified.prefetch_to_device().unwrap();
            unified.prefetch_to_host().unwrap();
        }
        assert!(stream.upload::<T>(&[]).unwrap().download().unwrap().is_empty());
        assert!(stream.alloc_uninit::<T>(0).unwrap().download().unwrap().is_empty());
    }
    for device in devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        check::<u8>(&stream);
        check::<f64>(&stream);
        let mut buffer = stream.alloc_zeros::<f32>(0).unwrap();
        buffer.move_to(&other).unwrap();
        let (address, len) = buffer.into_raw();
        // SAFETY: there are no elements, so there is no memory.
        drop(unsafe { DeviceBuffer::<f32>::from_raw(&stream, address, len) });
        stream.synchronize().unwrap();
    }
}

#[test]
fn sizes_that_do_not_fit_are_typed_errors() {
    fn too_large<T: bytemuck::Pod>(stream: &Stream, len: usize) {
        let check = |error: Error| match error {
            Error::TooLarge { asked, maximum, .. } => {
                assert_eq!(asked, len as u64);
                assert_eq!(maximum, isize::MAX as u64 / size_of::<T>() as u64);
            }
            error => panic!("{error:?}"),
        };
        check(stream.alloc_uninit::<T>(len).map(drop).unwrap_err());
        check(stream.alloc_zeros::<T>(len).map(drop).unwrap_err());
        for kind in [PinnedKind::Cached, PinnedKind::WriteCombined] {
            check(PinnedBuffer::<T>::zeros(stream, len, kind).map(drop).unwrap_err());
        }
        for attach in [Attach::Global, Attach::Host] {
            check(UnifiedBuffer::<T>::zeros(stream, len, attach).map(drop).unwrap_err());
        }
    }
    /// More than any device or host has.
    const PEBIBYTE: usize = 1 << 50;
    for device in devices() {
        let stream = device.stream().unwrap();
        // The first wraps around to nearly nothing in bytes, the second to exactly nothing.
        too_large::<f32>(&stream, usize::MAX / 2);
        too_large::<f32>(&stream, 1 << (usize::BITS - 2));
        too_large::<f64>(&stream, usize::MAX / 8);
        too_large::<u8>(&stream, usize::MAX);

        let refused = |error: Error, kind: MemoryKind| match error {
            Error::OutOfMemory { memory, bytes, .. } => assert_eq!((memory, bytes), (kind, PEBIBYTE as u64)),
            error => panic!("{error:?}"),
        };
        refused(stream.alloc_uninit::<u8>(PEBIBYTE).unwrap_err(), MemoryKind::Device);
        for kind in [PinnedKind::Cached, PinnedKind::WriteCombined] {
            refused(PinnedBuffer::<u8>::zeros(&stream, PEBIBYTE, kind).unwrap_err(), MemoryKind::Pinned);
        }
        // A driver may hand out more unified memory than there is, so this is for the simulator.
        if device.properties().backend == BackendKind::Sim {
            for attach in [Attach::Global, Attach::Host] {
                refused(UnifiedBuffer::<u8>::zeros(&stream, PEBIBYTE, attach).unwrap_err(), MemoryKind::Unified);
            }
        }
        // Nothing was broken by it.
        assert_eq!(stream.upload(&[1u8, 2]).unwrap().download().unwrap(), [1, 2]);
    }
}

#[test]
fn a_size_in_bytes_is_length_times_size() {
    let device = Device::open("sim:memory=8388608").unwrap();
    let stream = device.stream().unwrap();
    let eight_mib = stream.alloc_zeros::<i64>(1 << 20).unwrap();
    assert_eq!(device.memory_info().unwrap(), (0, 8 << 20));
    assert_eq!(eight_mib.slice((1 << 20) - 1..).unwrap().download().unwrap(), [0]);
    match stream.alloc_uninit::<u8>(1) {
        Err(Error::OutOfMemory { memory: MemoryKind::Device, bytes: 1, free: Some(0) }) => {}
        other => panic!("{other:?}"),
    }
    drop(eight_mib);
    assert_eq!(device.memory_info().unwrap(), (8 << 20, 8 << 20));
}

#[test]
fn ranges_are_checked() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut buffer = stream.upload(&[1u8, 2, 3]).unwrap();
        let refused = |result: Result<Slice<'_, u8>>, range: &str| match result {
            Err(Error::OutOfRange { what, len: 3, unit }) => {
                assert_eq!((what, &*unit), (format!("the range {range}"), "elements of type u8"));
            }
            other => panic!("{range}: {other:?}"),
        };
        refused(buffer.slice(..4), "..4");
        refused(buffer.slice(4..), "4..");
        refused(buffer.slice(0..=3), "0..=3");
        #[allow(clippy::reversed_empty_ranges, reason = "the one that is refused")]
        refused(buffer.slice(2..1), "2..1");
        refused(buffer.slice(..=usize::MAX), "..=18446744073709551615");
        assert_eq!(buffer.slice(1..=2).unwrap().download().unwrap(), [2, 3]);
        assert!(buffer.slice(3..).unwrap().is_empty());
        let split = buffer.as_slice_mut().split_at(4).unwrap_err().to_string();
        assert!(split.starts_with("the place to split, 4, does not lie within 3 elements of type u8."), "{split}");
        buffer.as_slice().check_len(3, "x").unwrap();
        let expected = |what| Err(Error::LengthMismatch { what, expected: 2, found: 3 });
        let text = |result: Result<()>| result.unwrap_err().to_string();
        assert_eq!(text(buffer.as_slice().check_len(2, "x")), text(expected("x")));
        assert_eq!(text(buffer.as_slice_mut().check_len(2, "z")), text(expected("z")));
        let (mut first, second) = buffer.as_slice_mut().split_at(1).unwrap();
        assert!(matches!(first.copy_from_slice(second.as_slice()), Err(Error::LengthMismatch { .. })));
        assert!(matches!(first.copy_from(&[]), Err(Error::LengthMismatch { .. })));
        assert!(matches!(second.as_slice().copy_to(&mut [0]), Err(Error::LengthMismatch { .. })));
    }
}

#[test]
fn every_kind_of_memory_copies_to_every_kind() {
    for device in devices() {
        let stream = device.stream().unwrap();
        for len in [1, 1000] {
            let values: Vec<i32> = (0..len).collect();
            let mut sources = Memory::<i32>::of_every_kind(&stream, len as usize);
            for from in &mut sources {
                assert_eq!(from.get().unwrap(), vec![0; len as usize], "{from:?}");
                from.set(&values).unwrap();
                for to in &mut Memory::<i32>::of_every_kind(&stream, len as usize) {
                    // Asynchronous; the write to the source afterwards waits for it.
                    to.slice_mut().copy_from_slice(from.slice()).unwrap();
                    from.set(&vec![-1; len as usize]).unwrap();
                    assert_eq!(to.get().unwrap(), values, "{from:?} to {to:?}");
                    from.set(&values).unwrap();
                    assert_eq!(to.slice().download().unwrap(), values);
                    to.slice_mut().fill_zero().unwrap();
                    assert_eq!(to.get().unwrap(), vec![0; len as usize]);
                }
            }
        }
    }
}

#[test]
fn kernels_use_every_kind_of_memory() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let kernel = double(&stream);
        for memory in &mut Memory::<u32>::of_every_kind(&stream, 1000) {
            memory.set(&(0..1000).collect::<Vec<_>>()).unwrap();
            run_double(&kernel, memory.slice_mut().slice_mut(1..).unwrap()).unwrap();
            assert_eq!(memory.get().unwrap(), (0..1000).map(|i| 2 * i).collect::<Vec<_>>(), "{memory:?}");
        }
    }
}

#[test]
fn a_prefetch_changes_nothing_but_the_place() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let kernel = double(&stream);
        for attach in [Attach::Global, Attach::Host] {
            let mut unified = UnifiedBuffer::<u32>::zeros(&stream, 1000, attach).unwrap();
            unified.host_mut().unwrap().fill(3);
            unified.prefetch_to_device().unwrap();
            run_double(&kernel, unified.as_slice_mut()).unwrap();
            unified.prefetch_to_host().unwrap();
            assert_eq!(*unified.host().unwrap(), [6; 1000], "{attach:?}");
            assert_eq!((unified.len(), unified.is_empty()), (1000, false));
        }
    }
}

#[test]
fn listed_devices_open_by_their_selectors() {
    let listed = Device::list();
    let (simulator, gpus) = listed.split_last().unwrap();
    assert_eq!((simulator.backend, &*simulator.selector), (BackendKind::Sim, "sim"));
    for (ordinal, gpu) in gpus.iter().enumerate() {
        assert_eq!((gpu.backend, &*gpu.selector), (BackendKind::Cuda, &*format!("cuda:{ordinal}")));
    }
    for properties in &listed {
        let device = Device::open(&properties.selector).unwrap();
        assert_eq!(device.properties(), properties);
        let (free, total) = device.memory_info().unwrap();
        assert!(free <= total && total > 0);
    }
}

#[test]
fn other_streams_are_refused_until_the_buffer_moves() {
    for device in devices() {
        let (first, second) = (device.stream().unwrap(), device.stream().unwrap());
        let mut x = first.upload(&[1u16; 8]).unwrap();
        let mut y = second.upload(&[2u16; 8]).unwrap();
        assert!(matches!(y.as_slice_mut().copy_from_slice(x.as_slice()), Err(Error::StreamMismatch { .. })));
        assert!(matches!(
            second.scope(|scope| scope.copy_to_device(&[3; 8], x.as_slice_mut())),
            Err(Error::StreamMismatch { .. })
        ));
        x.move_to(&second).unwrap();
        assert!(*x.stream() == second);
        y.as_slice_mut().copy_from_slice(x.as_slice()).unwrap();
        assert_eq!(y.download().unwrap(), [1; 8]);
    }
}

/// Every kind of buffer has the same methods.
#[test]
fn buffers_of_every_kind_move_with_their_work_and_are_sliced() {
    macro_rules! check {
        ($buffer:expr, $first:expr, $second:expr) => {{
            let (mut buffer, first, second) = ($buffer, $first, $second);
            assert!(*buffer.stream() == *first);
            let (one, other) = (double(first), double(second));
            Into::<SliceMut<'_, u32>>::into(&mut buffer).copy_from(&[1, 2, 3]).unwrap();
            run_double(&one, buffer.slice_mut(1..).unwrap()).unwrap();
            buffer.move_to(second).unwrap();
            assert!(*buffer.stream() == *second);
            assert!(matches!(run_double(&one, buffer.as_slice_mut()), Err(Error::ArgumentStream { .. })));
            run_double(&other, buffer.slice_mut(..=1).unwrap()).unwrap();
            assert_eq!(buffer.slice(1..).unwrap().download().unwrap(), [8, 6]);
            assert_eq!(Into::<Slice<'_, u32>>::into(&buffer).download().unwrap(), [2, 8, 6]);
            buffer.move_to(second).unwrap();
            buffer.move_to(first).unwrap();
            assert_eq!((buffer.download().unwrap(), buffer.len()), (vec![2, 8, 6], 3));
            assert!(matches!(buffer.slice(4..), Err(Error::OutOfRange { .. })));
            buffer
        }};
    }
    let exclusive = Device::open("sim:managed=exclusive").unwrap();
    for device in devices().iter().chain([&exclusive]) {
        let (first, second) = (&device.stream().unwrap(), &device.stream().unwrap());
        check!(first.alloc_zeros::<u32>(3).unwrap(), first, second);
        for kind in [PinnedKind::Cached, PinnedKind::WriteCombined] {
            let pinned = check!(PinnedBuffer::<u32>::zeros(first, 3, kind).unwrap(), first, second);
            assert_eq!(pinned.host().unwrap(), [2, 8, 6]);
        }
        for attach in [Attach::Global, Attach::Host] {
            let mut unified = check!(UnifiedBuffer::<u32>::zeros(first, 3, attach).unwrap(), first, second);
            assert_eq!(*unified.host().unwrap(), [2, 8, 6]);
            // A host view keeps work off the stream that the buffer has come to, and off no other.
            unified.move_to(second).unwrap();
            let view = unified.host().unwrap();
            assert_eq!(first.upload(&[1u8]).unwrap().download().unwrap(), [1]);
            let refused = second.upload(&[1u8]);
            match device.properties().concurrent_managed_access {
                true => assert_eq!(refused.unwrap().download().unwrap(), [1]),
                false => assert!(matches!(refused, Err(Error::HostAccess { .. }))),
            }
            drop(view);
            // Nor can a buffer come to a stream where the host is using one.
            let mut other = UnifiedBuffer::<u32>::zeros(first, 3, attach).unwrap();
            let view = unified.host().unwrap();
            let moved = other.move_to(second);
            if !device.properties().concurrent_managed_access {
                assert!(matches!(moved, Err(Error::HostAccess { .. })) && *other.stream() == *first);
                assert_eq!(*other.host().unwrap(), [0; 3]);
            }
            drop(view);
        }
    }
}

#[test]
fn a_stream_of_another_device_gets_neither_buffers_nor_events() {
    let stream = || kernels_common::device::Device::open("sim").unwrap().stream().unwrap();
    let (one, other) = (stream(), stream());
    let mut buffer = one.upload(&[1u8]).unwrap();
    let refused = |result: Result<()>, what: &str| match result {
        Err(error @ Error::DeviceMismatch { .. }) => {
            let text = error.to_string();
            assert!(text.contains(&format!(": {what} belongs to another `Device`")), "{text}");
            assert!(text.contains("open it once and clone"), "{text}");
        }
        other => panic!("{other:?}"),
    };
    refused(buffer.move_to(&other), "the buffer");
    assert!(*buffer.stream() == one);
    // Not the advice to move it, which would be refused.
    refused(other.upload(&[2u8]).unwrap().as_slice_mut().copy_from_slice(buffer.as_slice()), "the source");
    assert_eq!(buffer.download().unwrap(), [1]);
    let (start, end) = (one.record().unwrap(), other.record().unwrap());
    refused(other.wait(&start), "the event");
    refused(end.elapsed_ms_since(&start).map(drop), "the first event");
}

#[test]
fn a_scope_waits_at_its_end_also_when_its_closure_fails() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let input: Vec<u32> = (0..100_000).collect();
        let mut output = vec![0u32; 100_000];
        let mut buffer = stream.alloc_uninit::<u32>(100_000).unwrap();
        let result: Result<(), Error> = stream.scope(|scope| {
            scope.copy_to_device(&input, buffer.as_slice_mut())?;
            scope.copy_to_host(buffer.as_slice(), &mut output)?;
            Err(Error::StreamMismatch { what: "this" })
        });
        assert!(matches!(result, Err(Error::StreamMismatch { what: "this" })));
        assert_eq!(output, input);
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            stream.scope(|scope| -> Result<(), Error> {
                scope.copy_to_host(buffer.as_slice(), &mut output)?;
                panic!("on purpose")
            })
        }));
        assert!(unwound.is_err());
        assert_eq!(output, input);
    }
}

#[test]
fn work_in_a_scope_fails_with_errors_of_its_own() {
    let stream = devices()[0].stream().unwrap();
    let buffer = stream.upload(&[1u8, 2]).unwrap();
    let mut output = [0; 2];
    let parsed = stream.scope(|scope| -> Result<u32, Box<dyn std::error::Error>> {
        scope.copy_to_host(buffer.as_slice(), &mut output)?;
        Ok("x".parse()?)
    });
    assert!(parsed.unwrap_err().is::<std::num::ParseIntError>());
    assert_eq!(output, [1, 2]);
}

#[test]
fn handles_drop_in_any_order_and_on_any_thread() {
    for device in devices() {
        let device = Device::open(&device.properties().selector).unwrap();
        let stream = device.stream().unwrap();
        let mut memory = Memory::<u32>::of_every_kind(&stream, 2);
        let (kernel, event) = (double(&stream), stream.record().unwrap());
        drop(device);
        drop(stream);
        // The context was made on this thread; the other one uses everything, and drops the half of it.
        let (memory, kernel) = std::thread::spawn(move || {
            event.synchronize().unwrap();
            for memory in &mut memory {
                memory.set(&[1, 2]).unwrap();
                run_double(&kernel, memory.slice_mut()).unwrap();
                assert_eq!(memory.get().unwrap(), [2, 4]);
                let stream = memory.slice().stream().clone();
                assert_eq!(stream.upload(&[7u8]).unwrap().download().unwrap(), [7]);
                assert!(stream.record().unwrap().elapsed_ms_since(&event).unwrap() >= 0.0);
            }
            drop(event);
            memory.truncate(3);
            (memory, kernel)
        })
        .join()
        .unwrap();
        drop(kernel);
        for memory in memory {
            assert_eq!(memory.get().unwrap(), [2, 4]);
        }
    }
}

#[test]
fn events_order_streams_and_measure_time() {
    for device in devices() {
        let (first, second) = (device.stream().unwrap(), device.stream().unwrap());
        let start = first.record().unwrap();
        let buffer = first.upload(&vec![1u8; 1 << 20]).unwrap();
        let end = first.record().unwrap();
        second.wait(&end).unwrap();
        second.synchronize().unwrap();
        let elapsed = end.elapsed_ms_since(&start).unwrap();
        assert!((0.0..60_000.0).contains(&elapsed), "{elapsed}");
        drop(buffer);
    }
}

#[test]
fn without_concurrent_access_work_is_refused_while_the_host_looks() {
    let device = Device::open("sim:managed=exclusive").unwrap();
    assert!(!device.properties().concurrent_managed_access);
    let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
    let kernel = double(&stream);
    let mut buffer = stream.upload(&[1u32; 4]).unwrap();
    let mut beside = other.upload(&[1u32; 4]).unwrap();
    for attach in [Attach::Global, Attach::Host] {
        let mut unified = UnifiedBuffer::<u32>::zeros(&stream, 4, attach).unwrap();
        let second = UnifiedBuffer::<u32>::zeros(&stream, 4, attach).unwrap();
        {
            let mut view = unified.host_mut().unwrap();
            view[2] = 5;
            let (mut elements, mut scoped) = ([0u32; 4], [0u32; 4]);
            // Every way to give the stream work.
            for refused in [
                run_double(&kernel, buffer.as_slice_mut()),
                buffer.as_slice_mut().fill_zero(),
                buffer.as_slice_mut().copy_from(&[9; 4]),
                buffer.as_slice_mut().copy_from_slice(second.as_slice()),
                buffer.as_slice().copy_to(&mut elements),
                buffer.download().map(drop),
                stream.upload(&[1u32]).map(drop),
                stream.alloc_zeros::<u32>(1).map(drop),
                stream.scope(|scope| scope.copy_to_device(&[9; 4], buffer.as_slice_mut())),
                stream.scope(|scope| scope.copy_to_host(buffer.as_slice(), &mut scoped)),
                UnifiedBuffer::<u32>::zeros(&stream, 1, attach).map(drop),
            ] {
                let error = refused.unwrap_err();
                assert!(matches!(error, Error::HostAccess { .. }), "{error:?}");
                assert!(error.to_string().contains("Drop the host view first"), "{error}");
                assert!(error.to_string().contains("and the simulator cannot run kernels"), "{error}");
            }
            assert_eq!((elements, scoped), ([0; 4], [0; 4]));
            // Another stream has nothing to do with the buffer, and a second view harms nobody.
            beside.as_slice_mut().fill_zero().unwrap();
            assert_eq!(*second.host().unwrap(), [0; 4]);
            assert!(matches!(buffer.download(), Err(Error::HostAccess { .. })), "the first view is still there");
        }
        run_double(&kernel, unified.as_slice_mut()).unwrap();
        let view = unified.host().unwrap();
        assert_eq!(*view, [0, 0, 10, 0]);
        assert!(matches!(buffer.download(), Err(Error::HostAccess { .. })));
        drop(view);
        assert_eq!(buffer.download().unwrap(), [1; 4], "what was refused was not done");
        // Hints are no work there.
        unified.prefetch_to_device().unwrap();
        // A view that is forgotten keeps the stream idle for good; its buffers can still be dropped.
        if attach == Attach::Host {
            std::mem::forget(unified.host().unwrap());
            assert!(matches!(run_double(&kernel, buffer.as_slice_mut()), Err(Error::HostAccess { .. })));
        }
    }
}
