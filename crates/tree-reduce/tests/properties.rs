//! Every variant, for every element type, against the exact sum, on every device present.

use kernels_common::device::Device;
use kernels_common::element::Element;
use kernels_common::error::{Error, Result};
use kernels_common::oracle;
use kernels_common::stream::Stream;
use kernels_common::sum::Sum;
use kernels_common::testing::schedules::on_every_schedule;
use kernels_common::testing::{Input, Values, devices, sums};
use tree_reduce::{TreeReduce, Variant};

struct Trees;

impl sums::Family for Trees {
    type Member = (Variant, u32);

    fn members() -> Vec<Self::Member> {
        let unrolled = [2, 32, 256, 1024].map(|block| (Variant::Unrolled, block));
        let others = [
            (Variant::Interleaved, 33),
            (Variant::Strided, 96),
            (Variant::Sequential, 768),
            (Variant::Mirrored, 45),
            (Variant::FirstAdd, 48),
            (Variant::UnrolledWarp, 64),
            (Variant::UnrolledWarp, 1000),
        ];
        [&others[..], &unrolled[..]].concat()
    }

    fn make<T: Element>((variant, block): Self::Member, stream: &Stream) -> Result<Box<dyn Sum<T>>> {
        Ok(Box::new(TreeReduce::<T>::with_block(stream, variant, block)?))
    }
}

kernels_common::sum_tests!(Trees, cases: 12);

/// Every variant with every block that it takes out of `blocks`.
fn for_each_block<T: Element>(stream: &Stream, blocks: &[u32], mut test: impl FnMut(&mut TreeReduce<T>, &str)) {
    for variant in Variant::ALL {
        for &block in blocks {
            match TreeReduce::with_block(stream, variant, block) {
                Ok(mut sum) => test(&mut sum, &format!("{variant} with blocks of {block}")),
                Err(error) => assert!(matches!(error, Error::InvalidBlock { .. }), "{variant}, {block}: {error}"),
            }
        }
    }
}

/// The elements fill their buffer, so that reading past the end is out of bounds.
#[test]
fn every_block_size_is_exact_or_refused() {
    const BLOCKS: [u32; 18] = [1, 2, 3, 4, 8, 16, 31, 32, 33, 45, 48, 64, 96, 128, 256, 512, 768, 1024];
    fn check<T: Element>(stream: &Stream) -> Result<()> {
        for n in [1usize, 3, 1000, 4097] {
            let ones = stream.upload(&vec![T::from_f64(1.0); n])?;
            for_each_block::<T>(stream, &BLOCKS, |sum, context| {
                assert_eq!(sum.sum(ones.as_slice()).unwrap().to_f64(), n as f64, "{n} ones, {context}");
            });
        }
        Ok(())
    }
    for device in devices() {
        let stream = device.stream().unwrap();
        check::<f32>(&stream).unwrap();
        check::<i64>(&stream).unwrap();
    }
}

/// Grids and blocks of like and unlike sizes, full to the last element and not; and 1000 elements with each block.
#[test]
fn grids_need_not_resemble_blocks() {
    for device in devices() {
        let stream = device.stream().unwrap();
        for (grid, block) in [(1, 2), (2, 1), (31, 32), (32, 31), (32, 32)] {
            for variant in Variant::ALL.into_iter().filter(|variant| variant.check_block(block).is_ok()) {
                let mut sum = TreeReduce::<u32>::with_block(&stream, variant, block).unwrap();
                let full = u64::from(grid * block * variant.elements_per_thread());
                assert_eq!(sum.plan(full).unwrap().grid, [grid, 1, 1], "{variant}, {block}");
                for n in [full, full - 1, 1000] {
                    let ones = stream.upload(&vec![1u32; n as usize]).unwrap();
                    assert_eq!(sum.sum(ones.as_slice()).unwrap(), n, "{n} ones, {variant}, {block}");
                }
            }
        }
    }
}

#[test]
fn blocks_that_do_not_fit_are_refused() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let make = |variant, block| TreeReduce::<f32>::with_block(&stream, variant, block);
        for variant in Variant::ALL {
            for block in [0, 1025, 2048, u32::MAX] {
                let refused = make(variant, block);
                let typed = matches!(refused, Err(Error::InvalidLaunch { .. } | Error::InvalidBlock { .. }));
                assert!(typed, "{variant}, {block}: {refused:?}");
            }
            assert!(make(variant, 1024).is_ok(), "{variant}");
        }
        for (variant, block, message) in [
            (Variant::Unrolled, 96, "`unrolled` cannot run with 96 threads in a block: it takes powers of two"),
            (Variant::Unrolled, 2048, "powers of two from 1 to 1024"),
            (Variant::Unrolled, 0, "powers of two"),
            (
                Variant::UnrolledWarp,
                63,
                "`unrolled-warp` cannot run with 63 threads in a block: it takes 64 threads or more",
            ),
        ] {
            let refused = make(variant, block).unwrap_err();
            assert!(matches!(refused, Error::InvalidBlock { block: named, .. } if named == block), "{refused}");
            assert!(refused.to_string().contains(message), "{refused}");
        }
    }
}

/// Lanes of a warp need not run in lock step: the last warp of a tree is right in whatever order paths and warps go.
#[test]
fn no_schedule_changes_a_sum() {
    let values: Vec<i64> = Input { values: Values::AnyBits, seed: 19 }.generate(1000);
    let exact = oracle::sum(&values).value;
    on_every_schedule("", |device| {
        let stream = device.stream()?;
        let x = stream.upload(&values)?;
        for_each_block::<i64>(&stream, &[32, 64, 65], |sum, context| {
            assert_eq!(sum.sum(x.as_slice()).unwrap(), exact, "{context}");
        });
        Ok(())
    });
}

/// Blocks bring 256 ones or more at a time, which an f32 beyond 2^24 still counts exactly.
#[test]
fn ones_do_not_stall_at_2_to_the_24() {
    let n = (1 << 24) + 1024;
    let device = &devices()[0];
    let stream = device.stream().unwrap();
    let ones = stream.upload(&vec![1.0f32; n]).unwrap();
    for variant in [Variant::Sequential, Variant::Unrolled] {
        let result = TreeReduce::<f32>::new(&stream, variant).unwrap().sum(ones.as_slice()).unwrap();
        assert_eq!(result, 16_778_240.0, "{variant}");
    }
}

/// More elements than 32 bits count are planned, without allocating them.
#[test]
fn plans_past_32_bits() {
    let stream = Device::open("sim").unwrap().stream().unwrap();
    for n in [1u64 << 32, (1 << 32) + 5] {
        for variant in Variant::ALL {
            let config = TreeReduce::<f32>::new(&stream, variant).unwrap().plan(n).unwrap();
            let per_block = config.threads_per_block() * u64::from(variant.elements_per_thread());
            assert_eq!(config.blocks(), n.div_ceil(per_block), "{variant}");
        }
    }
    let sum = TreeReduce::<f32>::with_block(&stream, Variant::Sequential, 1).unwrap();
    assert!(matches!(sum.plan(1 << 32), Err(Error::TooLarge { .. })));
}
