//! Every variant, for every element type, against the exact sum, on every device present.

use std::num::NonZeroU32;

use kernels_common::device::{BackendKind, Device};
use kernels_common::element::{Element, bf16, f16};
use kernels_common::error::{Error, Result};
use kernels_common::oracle;
use kernels_common::stream::Stream;
use kernels_common::sum::Sum;
use kernels_common::testing::schedules::on_every_schedule;
use kernels_common::testing::{Input, Values, devices, sums};
use shuffle_reduce::{ShuffleReduce, Variant};

struct Shuffles;

impl sums::Family for Shuffles {
    type Member = (Variant, u32);

    fn members() -> Vec<Self::Member> {
        Variant::ALL.iter().flat_map(|&variant| [45, 48, 256, 1024].map(|block| (variant, block))).collect()
    }

    fn make<T: Element>((variant, block): Self::Member, stream: &Stream) -> Result<Box<dyn Sum<T>>> {
        Ok(Box::new(ShuffleReduce::<T>::with_block(stream, variant, block)?))
    }

    fn takes<T: Element>((variant, _): Self::Member) -> bool {
        variant.check_element::<T>().is_ok()
    }
}

kernels_common::sum_tests!(Shuffles, cases: 12);

/// Every variant that the device can run on elements of type `T`.
fn variants<T: Element>(device: &Device) -> impl Iterator<Item = Variant> {
    let redux = device.properties().capability >= (8, 0);
    let runs = move |variant: &Variant| *variant != Variant::Redux || redux;
    Variant::ALL.into_iter().filter(runs).filter(|variant| variant.check_element::<T>().is_ok())
}

/// Absent lanes are never read, which the simulator would report, and the elements fill their buffer.
#[test]
fn every_block_size_is_exact() {
    const BLOCKS: [u32; 16] = [1, 2, 3, 31, 32, 33, 45, 48, 63, 64, 65, 96, 768, 993, 1000, 1024];
    fn check<T: Element>(device: &Device) -> Result<()> {
        let stream = device.stream()?;
        for n in [1usize, 3, 1000, 4097] {
            let ones = stream.upload(&vec![T::from_f64(1.0); n])?;
            for variant in variants::<T>(device) {
                for block in BLOCKS {
                    let result = ShuffleReduce::<T>::with_block(&stream, variant, block)?.sum(ones.as_slice())?;
                    assert_eq!(result.to_f64(), n as f64, "{n} ones, {variant} with blocks of {block} on {device:?}");
                }
            }
        }
        Ok(())
    }
    for device in devices() {
        check::<f32>(device).unwrap();
        check::<f64>(device).unwrap();
        check::<i32>(device).unwrap();
        check::<u32>(device).unwrap();
    }
}

/// Values whose sums over a warp, and of whose halves, overflow 32 bits if anything is cut short or loses its sign.
#[test]
fn sums_of_a_warp_exceed_32_bits() {
    fn check<T: Element>(device: &Device, values: &[T]) -> Result<()> {
        let stream = device.stream()?;
        for variant in variants::<T>(device) {
            for (block, n) in [(32, 32), (45, 45), (48, 1000), (256, 1000)] {
                let input: Vec<T> = values.iter().copied().cycle().take(n).collect();
                let x = stream.upload(&input)?;
                let result = ShuffleReduce::<T>::with_block(&stream, variant, block)?.sum(x.as_slice())?;
                assert_eq!(result, oracle::sum(&input).value, "{values:?}, {variant}, blocks of {block}, {device:?}");
            }
        }
        Ok(())
    }
    for device in devices() {
        for values in [&[i32::MAX][..], &[i32::MIN], &[-1], &[0xffff, -0xffff, 0x10000], &[i32::MIN, i32::MAX, -2]] {
            check(device, values).unwrap();
        }
        for values in [&[u32::MAX][..], &[0xffff], &[0xffff_0000], &[0x8000_8000, 1]] {
            check(device, values).unwrap();
        }
    }
}

#[test]
fn redux_is_for_32_bit_integers_on_newer_devices() {
    fn refused<T: Element>(stream: &Stream) {
        let error = ShuffleReduce::<T>::new(stream, Variant::Redux).unwrap_err();
        assert!(matches!(error, Error::InvalidElement { element, .. } if element == T::NAME), "{error}");
        assert!(error.to_string().contains("it takes i32 and u32"), "{error}");
    }
    for device in devices() {
        let stream = device.stream().unwrap();
        refused::<f32>(&stream);
        refused::<f64>(&stream);
        refused::<f16>(&stream);
        refused::<bf16>(&stream);
        refused::<i64>(&stream);
        refused::<u64>(&stream);
    }
    for (selector, runs) in [("sim:cc=7.5", false), ("sim:cc=8.0", true), ("sim:cc=9.0", true)] {
        let stream = Device::open(selector).unwrap().stream().unwrap();
        match ShuffleReduce::<i32>::new(&stream, Variant::Redux) {
            Ok(mut sum) => {
                assert!(runs, "{selector}");
                let x = stream.upload(&[-5i32; 100]).unwrap();
                assert_eq!(sum.sum(x.as_slice()).unwrap(), -500);
            }
            Err(error) => {
                assert!(!runs && matches!(error, Error::NoVariant { capability: (7, 5), .. }), "{selector}: {error}");
                assert!(error.to_string().contains("need 8.0"), "{error}");
            }
        }
    }
}

/// 1000 elements by grids of a few blocks up to as many as they need.
#[test]
fn any_grid_walks_over_all_elements() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let ones = stream.upload(&[1u32; 1000]).unwrap();
        for (grid, block) in [(1, 1), (1, 2), (2, 1), (31, 32), (32, 31), (32, 32), (3, 45), (u32::MAX >> 1, 256)] {
            let mut sum = ShuffleReduce::<u32>::with_grid(&stream, NonZeroU32::new(grid).unwrap(), block).unwrap();
            assert_eq!(sum.sum(ones.as_slice()).unwrap(), 1000, "{grid} blocks of {block} on {device:?}");
            let blocks = sum.plan(1000).unwrap().blocks();
            assert_eq!(blocks, u64::from(grid.min(1000u32.div_ceil(block))));
        }
    }
}

#[test]
fn shapes_that_no_device_launches_are_refused() {
    for device in devices() {
        let stream = device.stream().unwrap();
        for block in [0, 1025, u32::MAX] {
            for variant in variants::<i32>(device) {
                let refused = ShuffleReduce::<i32>::with_block(&stream, variant, block);
                assert!(matches!(refused, Err(Error::InvalidLaunch { .. })), "{variant}, {block}: {refused:?}");
            }
            let refused = ShuffleReduce::<f32>::with_grid(&stream, NonZeroU32::MIN, block);
            assert!(matches!(refused, Err(Error::InvalidLaunch { .. })), "{block}: {refused:?}");
        }
        let refused = ShuffleReduce::<f32>::with_grid(&stream, NonZeroU32::MAX, 32);
        assert!(matches!(refused, Err(Error::InvalidLaunch { limit: "the grid along x", .. })), "{refused:?}");
    }
}

/// Warps and paths may go in any order.
#[test]
fn no_schedule_changes_a_sum() {
    let values: Vec<i32> = Input { values: Values::AnyBits, seed: 20 }.generate(1000);
    let exact = oracle::sum(&values).value;
    on_every_schedule("cc=8.0", |device| {
        let stream = device.stream()?;
        let x = stream.upload(&values)?;
        for variant in Variant::ALL {
            for block in [45, 64] {
                let result = ShuffleReduce::<i32>::with_block(&stream, variant, block)?.sum(x.as_slice())?;
                assert_eq!(result, exact, "{variant} with blocks of {block}");
            }
        }
        Ok(())
    });
}

/// A block brings 256 ones or more at a time, which an f32 beyond 2^24 still counts exactly.
#[test]
fn ones_do_not_stall_at_2_to_the_24() {
    let n = (1 << 24) + 1024;
    let device = &devices()[0];
    let stream = device.stream().unwrap();
    let ones = stream.upload(&vec![1.0f32; n]).unwrap();
    for variant in variants::<f32>(device) {
        let result = ShuffleReduce::<f32>::new(&stream, variant).unwrap().sum(ones.as_slice()).unwrap();
        assert_eq!(result, 16_778_240.0, "{variant}");
    }
}

/// More elements than 32 bits count are planned, without allocating them.
#[test]
fn plans_past_32_bits() {
    let device = Device::open("sim:cc=8.0").unwrap();
    let stream = device.stream().unwrap();
    assert_eq!(device.properties().backend, BackendKind::Sim);
    for n in [1u64 << 32, (1 << 32) + 5] {
        for variant in Variant::ALL {
            let sum = ShuffleReduce::<u32>::new(&stream, variant).unwrap();
            let config = sum.plan(n).unwrap();
            match variant {
                Variant::GridStride => {
                    let resident = device.properties().max_threads_per_multiprocessor / 256;
                    assert_eq!(config.blocks(), u64::from(resident * device.properties().multiprocessors));
                    assert!(sum.depth(n) > n / (config.blocks() * 256));
                }
                Variant::Shuffle | Variant::Redux => assert_eq!(config.blocks(), n.div_ceil(256), "{variant}"),
            }
        }
    }
    let sum = ShuffleReduce::<f32>::with_block(&stream, Variant::Shuffle, 1).unwrap();
    assert!(matches!(sum.plan(1 << 32), Err(Error::TooLarge { .. })));
}
