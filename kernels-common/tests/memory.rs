//! Buffers, slices and copies, on every device present.

use kernels_common::error::{Error, MemoryKind};
use kernels_common::memory::{Attach, PinnedBuffer, PinnedKind, UnifiedBuffer};
use kernels_common::testing::devices;
use proptest::prelude::*;

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
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut buffer = stream.upload::<f32>(&[]).unwrap();
        assert!(buffer.is_empty() && buffer.download().unwrap().is_empty());
        buffer.as_slice_mut().fill_zero().unwrap();
        buffer.slice_mut(0..0).unwrap().copy_from(&[]).unwrap();
        let mut pinned = PinnedBuffer::<f64>::zeros(&stream, 0, PinnedKind::Cached).unwrap();
        assert!(pinned.host().unwrap().is_empty() && pinned.host_mut().unwrap().is_empty());
        let mut unified = UnifiedBuffer::<u32>::zeros(&stream, 0, Attach::Global).unwrap();
        assert!(unified.host().unwrap().is_empty() && unified.host_mut().unwrap().is_empty());
        unified.prefetch_to_device().unwrap();
        stream
            .scope(|scope| {
                scope.copy_to_device(&[], buffer.as_slice_mut())?;
                scope.copy_to_host(buffer.as_slice(), &mut [])
            })
            .unwrap();
    }
}

#[test]
fn sizes_that_do_not_fit_are_typed_errors() {
    for device in devices() {
        let stream = device.stream().unwrap();
        assert!(matches!(stream.alloc_uninit::<f32>(usize::MAX / 2), Err(Error::TooLarge { .. })));
        assert!(matches!(stream.alloc_uninit::<f64>(usize::MAX / 8), Err(Error::TooLarge { .. })));
        assert!(matches!(
            PinnedBuffer::<f64>::zeros(&stream, usize::MAX, PinnedKind::Cached),
            Err(Error::TooLarge { .. })
        ));
        // More than any device has: 2^50 bytes.
        match stream.alloc_uninit::<u8>(1 << 50) {
            Err(Error::OutOfMemory { memory: MemoryKind::Device, bytes, .. }) => assert_eq!(bytes, 1 << 50),
            other => panic!("{other:?}"),
        }
        let eight_mib = stream.alloc_uninit::<i64>(1 << 20).unwrap();
        assert_eq!(eight_mib.len(), 1 << 20);
    }
}

#[test]
fn ranges_are_checked() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut buffer = stream.upload(&[1u8, 2, 3]).unwrap();
        assert!(matches!(buffer.slice(..4), Err(Error::OutOfRange { start: 0, end: 4, len: 3 })));
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = buffer.slice(2..1);
        assert!(matches!(reversed, Err(Error::OutOfRange { start: 2, end: 1, len: 3 })));
        assert!(matches!(buffer.slice(..=usize::MAX), Err(Error::OutOfRange { .. })));
        assert_eq!(buffer.slice(1..=2).unwrap().download().unwrap(), [2, 3]);
        assert!(buffer.slice(3..).unwrap().is_empty());
        assert!(matches!(buffer.as_slice_mut().split_at(4), Err(Error::OutOfRange { .. })));
        let (mut first, second) = buffer.as_slice_mut().split_at(1).unwrap();
        assert!(matches!(first.copy_from_slice(second.as_slice()), Err(Error::LengthMismatch { .. })));
        assert!(matches!(first.copy_from(&[]), Err(Error::LengthMismatch { .. })));
        assert!(matches!(second.as_slice().copy_to(&mut [0]), Err(Error::LengthMismatch { .. })));
    }
}

#[test]
fn pinned_and_unified_memory_take_part_in_every_copy() {
    let values: Vec<i32> = (0..1000).collect();
    for device in devices() {
        let stream = device.stream().unwrap();
        for kind in [PinnedKind::Cached, PinnedKind::WriteCombined] {
            let mut pinned = PinnedBuffer::<i32>::zeros(&stream, 1000, kind).unwrap();
            assert!(pinned.host().unwrap().iter().all(|&value| value == 0));
            pinned.host_mut().unwrap().copy_from_slice(&values);
            let mut buffer = stream.alloc_uninit::<i32>(1000).unwrap();
            // Asynchronous; the write to the pinned source afterwards waits for it.
            buffer.as_slice_mut().copy_from_slice(pinned.as_slice()).unwrap();
            pinned.host_mut().unwrap()[999] = -1;
            assert_eq!(buffer.download().unwrap(), values);
            pinned.as_slice_mut().copy_from_slice(buffer.as_slice()).unwrap();
            assert_eq!(pinned.host().unwrap(), values);
        }
        for attach in [Attach::Global, Attach::Host] {
            let mut unified = UnifiedBuffer::<i32>::zeros(&stream, 1000, attach).unwrap();
            unified.host_mut().unwrap().copy_from_slice(&values);
            unified.prefetch_to_device().unwrap();
            let mut buffer = stream.alloc_uninit::<i32>(1000).unwrap();
            buffer.as_slice_mut().copy_from_slice(unified.as_slice()).unwrap();
            unified.as_slice_mut().fill_zero().unwrap();
            assert!(unified.host().unwrap().iter().all(|&value| value == 0));
            unified.as_slice_mut().copy_from_slice(buffer.as_slice()).unwrap();
            unified.prefetch_to_host().unwrap();
            assert_eq!(*unified.host().unwrap(), *values);
        }
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

#[test]
fn a_stream_of_another_device_gets_neither_buffers_nor_events() {
    let stream = || kernels_common::device::Device::open("sim").unwrap().stream().unwrap();
    let (one, other) = (stream(), stream());
    let mut buffer = one.upload(&[1u8]).unwrap();
    assert!(matches!(buffer.move_to(&other), Err(Error::Unsupported { .. })));
    assert!(*buffer.stream() == one);
    assert_eq!(buffer.download().unwrap(), [1]);
    let (start, end) = (one.record().unwrap(), other.record().unwrap());
    assert!(matches!(other.wait(&start), Err(Error::Unsupported { .. })));
    assert!(matches!(end.elapsed_ms_since(&start), Err(Error::Unsupported { .. })));
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
fn handles_drop_in_any_order_and_on_any_thread() {
    for device in devices() {
        let device = kernels_common::device::Device::open(&device.properties().selector).unwrap();
        let stream = device.stream().unwrap();
        let buffer = stream.upload(&[1.0f64, 2.0]).unwrap();
        let pinned = PinnedBuffer::<f64>::zeros(&stream, 2, PinnedKind::Cached).unwrap();
        drop(device);
        drop(stream);
        let buffer = std::thread::spawn(move || {
            assert_eq!(buffer.download().unwrap(), [1.0, 2.0]);
            drop(pinned);
            buffer
        });
        drop(buffer.join().unwrap());
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
    let device = kernels_common::device::Device::open("sim:managed=exclusive").unwrap();
    let stream = device.stream().unwrap();
    let mut unified = UnifiedBuffer::<f32>::zeros(&stream, 4, Attach::Global).unwrap();
    let mut buffer = stream.alloc_zeros::<f32>(4).unwrap();
    {
        let mut view = unified.host_mut().unwrap();
        view[2] = 5.0;
        assert!(matches!(buffer.as_slice_mut().fill_zero(), Err(Error::HostAccess { .. })));
    }
    buffer.as_slice_mut().copy_from_slice(unified.as_slice()).unwrap();
    assert_eq!(buffer.download().unwrap(), [0.0, 0.0, 5.0, 0.0]);
    let view = unified.host().unwrap();
    assert!(matches!(buffer.download(), Err(Error::HostAccess { .. })));
    drop(view);
    assert_eq!(buffer.download().unwrap()[2], 5.0);
}
