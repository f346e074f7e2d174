//! Every variant, for every element type, against the exact sum, on every device present.

use atomic_reduce::racy::Racy;
use atomic_reduce::{AtomicReduce, Variant};
use kernels_common::device::{BackendKind, Device};
use kernels_common::element::Element;
use kernels_common::error::{Error, Result};
use kernels_common::stream::Stream;
use kernels_common::sum::Sum;
use kernels_common::testing::{Input, devices, sums};

struct Atomic;

impl sums::Family for Atomic {
    type Member = (Variant, u32);

    fn members() -> Vec<Self::Member> {
        Variant::ALL.iter().flat_map(|&variant| [33, 256, 1024].map(|block| (variant, block))).collect()
    }

    fn make<T: Element>((variant, block): Self::Member, stream: &Stream) -> Result<Box<dyn Sum<T>>> {
        Ok(Box::new(AtomicReduce::<T>::with_block(stream, variant, block)?))
    }
}

kernels_common::sum_tests!(Atomic, cases: 16);

#[test]
fn blocks_that_no_device_launches_are_refused() {
    for device in devices() {
        let stream = device.stream().unwrap();
        for variant in Variant::ALL {
            for block in [0, 1025, u32::MAX] {
                let refused = AtomicReduce::<f32>::with_block(&stream, variant, block);
                assert!(matches!(refused, Err(Error::InvalidLaunch { .. })), "{block}: {refused:?}");
            }
        }
    }
}

/// An f32 that ones are added to stops at 2^24, where one more is half of the last bit. Leaders bring more at a time.
#[test]
fn additions_of_ones_stall_at_2_to_the_24() {
    let n = (1 << 24) + 1024;
    for device in devices().iter().take(1) {
        let stream = device.stream().unwrap();
        let ones = stream.upload(&vec![1.0f32; n]).unwrap();
        let sum = |variant| AtomicReduce::<f32>::new(&stream, variant)?.sum(ones.as_slice());
        assert_eq!(sum(Variant::PerElement).unwrap(), 16_777_216.0, "as its documentation says");
        assert_eq!(sum(Variant::WarpLeader).unwrap(), 16_778_240.0);
        assert_eq!(sum(Variant::BlockLeader).unwrap(), 16_778_240.0);
    }
}

/// The simulator says what is wrong with it, in whatever order it runs.
#[test]
fn the_race_is_found() {
    for selector in ["sim", "sim:seed=1", "sim:seed=2"] {
        let stream = Device::open(selector).unwrap().stream().unwrap();
        for n in [2, 33, 257, 10_000] {
            let x = stream.upload(&vec![1u32; n]).unwrap();
            let mut out = stream.alloc_zeros(1).unwrap();
            let mut racy = Racy::<u32>::new(&stream).unwrap();
            let refused = racy.enqueue_wrong_sum(x.as_slice(), out.as_slice_mut()).unwrap_err();
            let text = refused.to_string();
            assert!(matches!(refused, Error::Fault(_)) && text.contains("data race"), "{selector}, {n}: {text}");
        }
        let one = stream.upload(&[5u32]).unwrap();
        let mut out = stream.alloc_zeros(1).unwrap();
        Racy::<u32>::new(&stream).unwrap().enqueue_wrong_sum(one.as_slice(), out.as_slice_mut()).unwrap();
        assert_eq!(out.download().unwrap(), [5], "one thread has nobody to race with");
    }
}

/// Without the simulator's check, and on a GPU, it gives a wrong sum.
#[test]
fn racy_additions_are_lost() {
    let simulators =
        ["sim:check=no-races", "sim:check=no-races,seed=1"].map(|selector| Device::open(selector).unwrap());
    let gpus = devices().iter().filter(|device| device.properties().backend == BackendKind::Cuda);
    for device in gpus.chain(&simulators) {
        let stream = device.stream().unwrap();
        let n = 10_000;
        let values: Vec<u64> = Input { values: kernels_common::testing::Values::Ones, seed: 0 }.generate(n);
        let x = stream.upload(&values).unwrap();
        let mut out = stream.alloc_zeros::<u64>(1).unwrap();
        let mut racy = Racy::<u64>::new(&stream).unwrap();
        racy.enqueue_wrong_sum(x.as_slice(), out.as_slice_mut()).unwrap();
        let result = out.download().unwrap()[0];
        assert!(result > 0 && result < n as u64, "{result} on {device:?}");
        let empty = racy.enqueue_wrong_sum(x.slice(..0).unwrap(), out.as_slice_mut());
        assert!(empty.is_ok() && out.download().unwrap() == [0]);
        let mut two = stream.alloc_zeros::<u64>(2).unwrap();
        let refused = racy.enqueue_wrong_sum(x.as_slice(), two.as_slice_mut());
        assert!(matches!(refused, Err(Error::LengthMismatch { found: 2, .. })));
    }
    let device = Device::open("sim").unwrap();
    let (here, there) = (device.stream().unwrap(), device.stream().unwrap());
    let mut racy = Racy::<f32>::new(&here).unwrap();
    let (x, far) = (here.upload(&[1.0f32]).unwrap(), there.upload(&[1.0f32]).unwrap());
    let (mut out, mut far_out) = (here.alloc_zeros::<f32>(1).unwrap(), there.alloc_zeros::<f32>(1).unwrap());
    let refused = racy.enqueue_wrong_sum(x.as_slice(), far_out.as_slice_mut());
    assert!(matches!(refused, Err(Error::StreamMismatch { what: "the output" })));
    let refused = racy.enqueue_wrong_sum(far.as_slice(), out.as_slice_mut());
    assert!(matches!(refused, Err(Error::StreamMismatch { what: "the input" })));
}

/// More elements than 32 bits count are planned, without allocating them.
#[test]
fn plans_past_32_bits() {
    let stream = Device::open("sim").unwrap().stream().unwrap();
    for n in [1u64 << 32, (1 << 32) + 5] {
        for variant in Variant::ALL {
            let sum = AtomicReduce::<f32>::new(&stream, variant).unwrap();
            let config = sum.plan(n).unwrap();
            assert!(config.blocks() * config.threads_per_block() >= n && config.blocks() * 256 < n + 256);
        }
    }
    let sum = AtomicReduce::<f32>::with_block(&stream, Variant::PerElement, 1).unwrap();
    assert!(matches!(sum.plan(1 << 32), Err(Error::TooLarge { .. })));
}
