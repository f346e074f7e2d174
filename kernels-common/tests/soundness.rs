//! Safe code that does what it can to get at memory it must not have: it forgets, panics, moves between threads, and
//! asks for nothing and for everything. Small, so that it also runs under Miri; see `docs/testing.md`.

use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use kernels_common::device::Device;
use kernels_common::error::Error;
use kernels_common::memory::{Attach, DeviceBuffer, PinnedBuffer, PinnedKind, UnifiedBuffer};
use kernels_common::testing::devices;

#[test]
fn what_is_forgotten_is_only_leaked() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let buffer = stream.upload(&[1u32, 2, 3]).unwrap();
        let mut pinned = PinnedBuffer::<u32>::zeros(&stream, 3, PinnedKind::Cached).unwrap();
        pinned.as_slice_mut().copy_from_slice(buffer.as_slice()).unwrap();
        assert_eq!(pinned.host().unwrap(), [1, 2, 3]);
        let mut unified = UnifiedBuffer::<u32>::zeros(&stream, 3, Attach::Global).unwrap();
        if device.properties().concurrent_managed_access {
            forget(unified.host_mut().unwrap());
            unified.as_slice_mut().copy_from_slice(pinned.as_slice()).unwrap();
            assert_eq!(unified.host().unwrap()[..], [1, 2, 3]);
        }
        // The stream lives for as long as anything that is left.
        forget(stream.clone());
        forget(pinned);
        drop((stream, unified));
        assert_eq!(buffer.download().unwrap(), [1, 2, 3]);
    }
}

#[cfg(feature = "sim")]
#[test]
fn a_forgotten_view_keeps_work_off_for_ever() {
    let stream = Device::open("sim:managed=exclusive").unwrap().stream().unwrap();
    let mut unified = UnifiedBuffer::<u32>::zeros(&stream, 3, Attach::Host).unwrap();
    forget(unified.host_mut().unwrap());
    assert!(matches!(unified.as_slice_mut().fill_zero(), Err(Error::HostAccess { .. })));
    assert_eq!(unified.host().unwrap()[..], [0; 3]);
}

#[test]
fn a_scope_that_panics_has_done_its_copies() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut buffer = stream.alloc_uninit::<u32>(3).unwrap();
        let (input, mut output) = (vec![4u32, 5, 6], vec![0u32; 3]);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            stream.scope(|scope| -> Result<(), Error> {
                scope.copy_to_device(&input, buffer.as_slice_mut())?;
                scope.copy_to_host(buffer.as_slice(), &mut output)?;
                panic!("in the middle")
            })
        }));
        assert!(panicked.is_err());
        drop(input);
        assert_eq!(output, [4, 5, 6]);
        assert_eq!(buffer.download().unwrap(), [4, 5, 6]);
    }
}

#[test]
fn the_host_reads_and_the_device_reads() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut pinned = PinnedBuffer::<u32>::zeros(&stream, 4, PinnedKind::Cached).unwrap();
        pinned.host_mut().unwrap().copy_from_slice(&[1, 2, 3, 4]);
        let mut other = stream.alloc_zeros::<u32>(4).unwrap();
        let seen = pinned.host().unwrap();
        other.as_slice_mut().copy_from_slice(pinned.as_slice()).unwrap();
        thread::scope(|threads| {
            threads.spawn(|| assert_eq!(pinned.host().unwrap(), seen));
            threads.spawn(|| assert_eq!(pinned.as_slice().download().unwrap(), seen[..]));
        });
        assert_eq!(other.download().unwrap(), seen[..]);
    }
}

#[test]
fn the_host_writes_one_buffer_while_the_device_writes_another() {
    for device in devices().iter().filter(|device| device.properties().concurrent_managed_access) {
        let stream = device.stream().unwrap();
        let mut ours = UnifiedBuffer::<u32>::zeros(&stream, 4, Attach::Global).unwrap();
        let mut theirs = UnifiedBuffer::<u32>::zeros(&stream, 4, Attach::Global).unwrap();
        let source = stream.upload(&[7u32; 4]).unwrap();
        let mut view = ours.host_mut().unwrap();
        view[0] = 1;
        theirs.as_slice_mut().copy_from_slice(source.as_slice()).unwrap();
        view[1] = 2;
        assert_eq!(view[..], [1, 2, 0, 0]);
        drop(view);
        assert_eq!(ours.as_slice().download().unwrap(), [1, 2, 0, 0]);
        assert_eq!(theirs.host().unwrap()[..], [7; 4]);
    }
}

#[test]
fn elements_without_bytes() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut buffer = stream.alloc_zeros::<[u32; 0]>(usize::MAX).unwrap();
        assert_eq!(buffer.slice(5..).unwrap().len(), usize::MAX - 5);
        assert_eq!(buffer.slice_mut(..3).unwrap().as_slice().download().unwrap(), [[]; 3]);
        buffer.as_slice_mut().split_at(usize::MAX).unwrap();
        let mut pinned = PinnedBuffer::<()>::zeros(&stream, usize::MAX, PinnedKind::Cached).unwrap();
        assert_eq!(pinned.host().unwrap().len(), usize::MAX);
        assert_eq!(pinned.host_mut().unwrap().len(), usize::MAX);
        let unified = UnifiedBuffer::<()>::zeros(&stream, usize::MAX, Attach::Host).unwrap();
        assert_eq!(unified.host().unwrap().len(), usize::MAX);
    }
}

#[test]
fn memory_that_nobody_wrote_is_still_elements() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let buffer = stream.alloc_uninit::<u64>(64).unwrap();
        // Whatever the device holds, it holds: a download that left some of its host memory unwritten would not repeat.
        let held = buffer.download().unwrap();
        assert_eq!(buffer.download().unwrap(), held);
        let mut pinned = PinnedBuffer::<u64>::zeros(&stream, 64, PinnedKind::Cached).unwrap();
        pinned.as_slice_mut().copy_from_slice(buffer.as_slice()).unwrap();
        assert_eq!(pinned.host().unwrap(), held);
    }
}

#[test]
fn raw_memory_has_one_owner() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let buffer = stream.upload(&[1u32, 2, 3]).unwrap();
        let (address, len) = buffer.into_raw();
        // SAFETY: the memory was just given up by its buffer, whose stream this is.
        let again = unsafe { DeviceBuffer::<u32>::from_raw(&stream, address, len) };
        assert_eq!(again.download().unwrap(), [1, 2, 3]);
        let empty = stream.upload::<u32>(&[]).unwrap().into_raw();
        assert_eq!(empty.1, 0);
    }
}

#[test]
fn the_last_owner_may_be_on_any_thread() {
    for selector in devices().iter().map(|device| &device.properties().selector) {
        let device = Device::open(selector).unwrap();
        let stream = device.stream().unwrap();
        let event = stream.record().unwrap();
        let mut buffer = stream.upload(&[1u32, 2, 3]).unwrap();
        let mut pinned = PinnedBuffer::<u32>::zeros(&stream, 3, PinnedKind::WriteCombined).unwrap();
        drop((device, stream));
        thread::spawn(move || {
            pinned.as_slice_mut().copy_from_slice(buffer.as_slice()).unwrap();
            buffer.as_slice_mut().fill_zero().unwrap();
            assert_eq!(pinned.host().unwrap(), [1, 2, 3]);
            drop(event);
        })
        .join()
        .unwrap();
    }
}
