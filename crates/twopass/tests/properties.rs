//! Every variant, for every element type, against the exact sum, on every device present.

use kernels_common::device::Device;
use kernels_common::element::{Accumulator, Element, bf16, f16};
use kernels_common::error::{Error, Result};
use kernels_common::stream::Stream;
use kernels_common::sum::Sum;
use kernels_common::testing::{Input, Values, devices, sums};
use twopass::{TwoPass, Variant};

struct Two;

impl sums::Family for Two {
    type Member = Variant;

    fn members() -> Vec<Self::Member> {
        Variant::ALL.to_vec()
    }

    fn make<T: Element>(variant: Self::Member, stream: &Stream) -> Result<Box<dyn Sum<T>>> {
        Ok(Box::new(TwoPass::<T>::new(stream, variant)?))
    }
}

kernels_common::sum_tests!(Two, cases: 16);

/// The order of the additions, written down for the host: what makes the bits equal on all devices.
mod order {
    use super::{Accumulator, Element};

    /// What a block of `threads` threads makes of the elements that it takes: thread t those from `first + t` on in
    /// steps of `step`; then the lanes of each warp, and the warps, by halving offsets.
    fn block<T: Element>(x: &[T], first: usize, step: usize, threads: usize) -> T::Sum {
        let sums: Vec<T::Sum> = (first..first + threads)
            .map(|start| x.iter().skip(start).step_by(step).fold(T::Sum::default(), |sum, x| sum.add(x.widen())))
            .collect();
        let warps: Vec<T::Sum> = sums.chunks(32).map(halving_tree).collect();
        halving_tree(&warps)
    }

    fn halving_tree<S: Accumulator>(values: &[S]) -> S {
        if let [value] = values {
            return *value;
        }
        let (low, high) = values.split_at(values.len() / 2);
        let sums: Vec<S> = low.iter().zip(high).map(|(&a, &b)| a.add(b)).collect();
        halving_tree(&sums)
    }

    pub(crate) fn sum<T: Element>(x: &[T], blocks: usize) -> T::Sum {
        let partials: Vec<T::Sum> = (0..blocks).map(|b| block(x, b * 256, blocks * 256, 256)).collect();
        block(&partials, 0, 1024, 1024).normalised()
    }
}

/// Bits of every device against the order on the host; lengths on both sides of 1024 blocks, and partials on both sides
/// of the 1024 threads of the second launch.
#[test]
fn the_order_depends_on_the_number_of_elements_alone() {
    fn check<T: Element>(n: usize) {
        let values: Vec<T> = Input { values: Values::Uniform, seed: n as u64 }.generate(n);
        for variant in Variant::ALL {
            let expected = order::sum(&values, variant.partials(n as u64) as usize);
            for device in devices() {
                let stream = device.stream().unwrap();
                let x = stream.upload(&values).unwrap();
                let result = TwoPass::<T>::new(&stream, variant).unwrap().sum(x.as_slice()).unwrap();
                assert_eq!(result.bits(), expected.bits(), "{n} of {}, {variant} on {device:?}", T::NAME);
            }
        }
    }
    for n in [1, 33, 257, 5000] {
        check::<f32>(n);
        check::<f64>(n);
        check::<f16>(n);
        check::<bf16>(n);
        check::<i32>(n);
        check::<u64>(n);
    }
    check::<f32>(256 * 1024);
    check::<f32>(256 * 1024 + 1);
    check::<f32>(3 * 256 * 1024 + 4321);
}

/// A simulator of its own, so that nothing else allocates on it.
#[test]
fn reserved_memory_serves_later_calls() {
    let device = Device::open("sim").unwrap();
    let free = || device.memory_info().unwrap().0;
    let stream = device.stream().unwrap();
    let n = 256 * 5000;
    let ones = stream.upload(&vec![1u32; n]).unwrap();
    let mut out = stream.alloc_zeros(1).unwrap();
    for variant in Variant::ALL {
        let mut sum = TwoPass::<u32>::new(&stream, variant).unwrap();
        let before = free();
        sum.reserve(n).unwrap();
        let reserved = free();
        assert_eq!(reserved < before, variant == Variant::OneElement, "{variant}");
        sum.enqueue(ones.as_slice(), out.as_slice_mut()).unwrap();
        assert_eq!(free(), reserved, "{variant}: a call allocates");
        assert_eq!(out.download().unwrap(), [n as u64], "{variant}");
        let refused = sum.reserve(usize::MAX);
        assert_eq!(matches!(refused, Err(Error::OutOfMemory { .. })), variant == Variant::OneElement, "{refused:?}");
        assert_eq!(sum.sum(ones.as_slice()).unwrap(), n as u64, "{variant}, after memory that could not be had");
    }
}

/// More elements than 32 bits count are planned, without allocating them.
#[test]
fn plans_past_32_bits() {
    let stream = Device::open("sim").unwrap().stream().unwrap();
    for n in [1u64 << 32, (1 << 32) + 5] {
        let [first, finish] = TwoPass::<f32>::new(&stream, Variant::OneElement).unwrap().plan(n).unwrap();
        assert!(first.blocks() * 256 >= n && first.blocks() * 256 < n + 256 && finish.blocks() == 1);
        let [first, finish] = TwoPass::<f32>::new(&stream, Variant::GridStride).unwrap().plan(n).unwrap();
        assert_eq!((first.blocks(), finish.blocks()), (1024, 1));
    }
    let sum = TwoPass::<f32>::new(&stream, Variant::OneElement).unwrap();
    for n in [1 << 40, u64::MAX] {
        assert!(matches!(sum.plan(n), Err(Error::TooLarge { .. })), "{n}");
    }
    let [first, _] = TwoPass::<f32>::new(&stream, Variant::GridStride).unwrap().plan(u64::MAX).unwrap();
    assert_eq!(first.blocks(), 1024);
}
