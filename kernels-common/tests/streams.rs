//! Work on several streams: nothing is read before it is written, and no memory is used again before its work is done.

mod slow_copy;

use kernels_common::device::BackendKind;
use kernels_common::memory::{Attach, PinnedBuffer, PinnedKind, UnifiedBuffer};
use kernels_common::testing::devices;
use slow_copy::SlowCopy;

#[test]
fn memory_is_not_reused_before_its_work_is_done() {
    const LEN: usize = 10_000;
    for device in devices() {
        let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
        let slow = SlowCopy::new(&b);
        for round in 0..10u32 {
            let mut x = a.upload(&vec![round + 1; LEN]).unwrap();
            x.move_to(&b).unwrap();
            let mut y = b.alloc_uninit::<u32>(LEN).unwrap();
            slow.run(x.as_slice(), y.as_slice_mut()).unwrap();
            // Freed while the kernel reads it, and asked for again at once on either stream.
            drop(x);
            let others: Vec<_> = [&a, &b, &a, &b].iter().map(|stream| stream.upload(&vec![99; LEN]).unwrap()).collect();
            assert_eq!(y.download().unwrap(), vec![round + 1; LEN]);
            assert!(others.iter().all(|other| other.download().unwrap() == vec![99; LEN]));
        }
    }
}

#[test]
fn memory_that_the_host_sees_is_not_freed_before_its_work_is_done() {
    const LEN: usize = 10_000;
    for device in devices() {
        let stream = device.stream().unwrap();
        let slow = SlowCopy::new(&stream);
        let mut y = stream.alloc_uninit::<u32>(LEN).unwrap();
        for round in 0..4u32 {
            for kind in [PinnedKind::Cached, PinnedKind::WriteCombined] {
                let mut x = PinnedBuffer::<u32>::zeros(&stream, LEN, kind).unwrap();
                x.host_mut().unwrap().fill(round);
                slow.run(x.as_slice(), y.as_slice_mut()).unwrap();
                drop(x);
                let mut other = PinnedBuffer::<u32>::zeros(&stream, LEN, kind).unwrap();
                other.host_mut().unwrap().fill(99);
                assert_eq!(y.download().unwrap(), vec![round; LEN]);
            }
            for attach in [Attach::Global, Attach::Host] {
                let mut x = UnifiedBuffer::<u32>::zeros(&stream, LEN, attach).unwrap();
                x.host_mut().unwrap().fill(round);
                slow.run(x.as_slice(), y.as_slice_mut()).unwrap();
                drop(x);
                let mut other = UnifiedBuffer::<u32>::zeros(&stream, LEN, attach).unwrap();
                other.host_mut().unwrap().fill(99);
                assert_eq!(y.download().unwrap(), vec![round; LEN]);
            }
        }
    }
}

/// The source is written while the copy waits for a slow kernel: the write waits too.
#[test]
fn a_source_is_copied_as_it_was_when_the_copy_was_asked_for() {
    const LEN: usize = 10_000;
    for device in devices() {
        let stream = device.stream().unwrap();
        let slow = SlowCopy::new(&stream);
        let zeros = stream.alloc_zeros::<u32>(LEN).unwrap();
        let mut busy = stream.alloc_zeros::<u32>(LEN).unwrap();
        let mut y = stream.alloc_zeros::<u32>(LEN).unwrap();
        let mut pinned = PinnedBuffer::<u32>::zeros(&stream, LEN, PinnedKind::Cached).unwrap();
        let mut unified = UnifiedBuffer::<u32>::zeros(&stream, LEN, Attach::Global).unwrap();
        for round in 0..10u32 {
            pinned.host_mut().unwrap().fill(round);
            slow.run(zeros.as_slice(), busy.as_slice_mut()).unwrap();
            y.as_slice_mut().copy_from_slice(pinned.as_slice()).unwrap();
            pinned.host_mut().unwrap()[LEN - 1] = 77;
            assert_eq!(y.download().unwrap(), vec![round; LEN]);

            unified.host_mut().unwrap().fill(round);
            slow.run(zeros.as_slice(), busy.as_slice_mut()).unwrap();
            y.as_slice_mut().copy_from_slice(unified.as_slice()).unwrap();
            unified.host_mut().unwrap()[LEN - 1] = 77;
            assert_eq!(y.download().unwrap(), vec![round; LEN]);

            // Memory of the host that is not pinned has been read when the call returns.
            let mut host = vec![round; LEN];
            slow.run(zeros.as_slice(), busy.as_slice_mut()).unwrap();
            y.as_slice_mut().copy_from(&host).unwrap();
            host[LEN - 1] = 77;
            assert_eq!(y.download().unwrap(), vec![round; LEN]);
        }
    }
}

#[test]
fn a_buffer_that_moves_takes_its_work_along() {
    const LEN: usize = 1000;
    for device in devices() {
        let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
        let (slow, slow_back) = (SlowCopy::new(&a), SlowCopy::new(&b));
        let x = a.upload(&vec![7u32; LEN]).unwrap();
        for _ in 0..10 {
            let mut y = a.alloc_zeros::<u32>(LEN).unwrap();
            slow.run(x.as_slice(), y.as_slice_mut()).unwrap();
            y.move_to(&b).unwrap();
            let mut z = b.alloc_zeros::<u32>(LEN).unwrap();
            slow_back.run(y.as_slice(), z.as_slice_mut()).unwrap();
            z.move_to(&a).unwrap();
            assert_eq!(z.download().unwrap(), vec![7; LEN]);
        }
    }
}

#[test]
fn a_copy_on_one_stream_is_seen_by_a_kernel_on_another() {
    const LEN: usize = 100_000;
    for device in devices() {
        let gpu = device.properties().backend == BackendKind::Cuda;
        let (a, b) = (device.stream().unwrap(), device.stream().unwrap());
        let kernel = SlowCopy { steps: 1, ..SlowCopy::new(&b) };
        let mut x = a.alloc_zeros::<u32>(LEN).unwrap();
        let mut y = b.alloc_zeros::<u32>(LEN).unwrap();
        let mut host = vec![0u32; LEN];
        let mut pinned = PinnedBuffer::<u32>::zeros(&a, LEN, PinnedKind::Cached).unwrap();
        for round in 0..if gpu { 1000 } else { 5 } {
            for from_pinned in [false, true] {
                let value = 2 * round + u32::from(from_pinned);
                if from_pinned {
                    pinned.host_mut().unwrap().fill(value);
                    x.as_slice_mut().copy_from_slice(pinned.as_slice()).unwrap();
                    x.move_to(&b).unwrap();
                    kernel.run(x.as_slice(), y.as_slice_mut()).unwrap();
                } else {
                    host.fill(value);
                    a.scope(|scope| {
                        scope.copy_to_device(&host, x.as_slice_mut())?;
                        x.move_to(&b)?;
                        kernel.run(x.as_slice(), y.as_slice_mut())
                    })
                    .unwrap();
                }
                for place in [0, LEN / 2, LEN - 1] {
                    assert_eq!(y.slice(place..=place).unwrap().download().unwrap(), [value], "element {place}");
                }
                x.move_to(&a).unwrap();
            }
        }
    }
}

#[test]
fn buffers_of_many_threads_do_not_mix() {
    for device in devices() {
        std::thread::scope(|scope| {
            for thread in 0..8u32 {
                scope.spawn(move || {
                    let stream = device.stream().unwrap();
                    let slow = SlowCopy { steps: 100, ..SlowCopy::new(&stream) };
                    for round in 0..20 {
                        let len = 1 + (thread as usize * 977 + round * 331) % 5000;
                        let x = stream.upload(&vec![thread; len]).unwrap();
                        let mut y = stream.alloc_zeros(len).unwrap();
                        slow.run(x.as_slice(), y.as_slice_mut()).unwrap();
                        drop(x);
                        assert_eq!(y.download().unwrap(), vec![thread; len]);
                    }
                });
            }
        });
    }
}
