//! Every variant, for every element type, against the exact sum, on every device present.

use grid_sync::{GridSync, Variant};
use kernels_common::device::{BackendKind, Device};
use kernels_common::element::Element;
use kernels_common::error::{Error, Result};
use kernels_common::stream::Stream;
use kernels_common::sum::Sum;
use kernels_common::testing::{Input, Values, devices, sums};

struct Grid;

impl sums::Family for Grid {
    /// A number of blocks, or what the device and the elements make of it.
    type Member = (Variant, Option<u32>);

    fn members() -> Vec<Self::Member> {
        Variant::ALL.iter().flat_map(|&variant| [None, Some(1), Some(11)].map(|blocks| (variant, blocks))).collect()
    }

    fn make<T: Element>((variant, blocks): Self::Member, stream: &Stream) -> Result<Box<dyn Sum<T>>> {
        Ok(Box::new(match blocks {
            None => GridSync::<T>::new(stream, variant)?,
            Some(blocks) => GridSync::<T>::with_blocks(stream, variant, blocks)?,
        }))
    }
}

/// The devices that launch cooperatively.
fn cooperative_devices() -> Vec<Device> {
    devices().iter().filter(|device| device.properties().cooperative_launch).cloned().collect()
}

kernels_common::sum_tests!(Grid, cases: 12);

/// All blocks that the device holds, and work for none but the first, for some, and for all but one thread.
#[test]
fn blocks_without_elements_reach_every_barrier() {
    for device in cooperative_devices() {
        let stream = device.stream().unwrap();
        for variant in Variant::ALL {
            let most = GridSync::<f32>::new(&stream, variant).unwrap().max_blocks();
            let mut sum = GridSync::<f32>::with_blocks(&stream, variant, most).unwrap();
            assert_eq!(sum.plan(1).blocks(), u64::from(most));
            let threads = most as usize * 256;
            let ones = stream.upload(&vec![1.0f32; threads + 1]).unwrap();
            for n in [1, 255, 257, threads / 2 + 1, threads - 1, threads + 1] {
                let result = sum.sum(ones.slice(..n).unwrap()).unwrap();
                assert_eq!(result, n as f32, "{n} elements, {most} blocks, {variant} on {device:?}");
            }
        }
    }
}

/// One barrier follows another with nothing between them for most blocks, so that a block may be at the next before
/// others have left the last.
#[test]
fn barriers_are_not_overtaken_by_the_next() {
    let shuffled = (0..40).map(|seed| Device::open(&format!("sim:sms=2,seed={seed}")).unwrap());
    for device in cooperative_devices().into_iter().chain(shuffled) {
        let stream = device.stream().unwrap();
        let most = GridSync::<f32>::new(&stream, Variant::Barriers).unwrap().max_blocks();
        assert!(most >= 8, "fewer than three barriers");
        let mut sum = GridSync::<f32>::with_blocks(&stream, Variant::Barriers, most).unwrap();
        let n = most as usize * 32 + 1;
        let ones = stream.upload(&vec![1.0f32; n]).unwrap();
        let runs = if device.properties().backend == BackendKind::Sim { 3 } else { 1000 };
        let mut results = stream.alloc_zeros::<f32>(runs).unwrap();
        for run in 0..runs {
            sum.enqueue(ones.as_slice(), results.slice_mut(run..run + 1).unwrap()).unwrap();
        }
        assert_eq!(results.download().unwrap(), vec![n as f32; runs], "{device:?}");
    }
}

/// 2^28 elements at one a thread are far more blocks than any device holds.
#[test]
fn too_many_blocks_are_clamped_or_refused_with_the_maximum() {
    for device in cooperative_devices() {
        let stream = device.stream().unwrap();
        for variant in Variant::ALL {
            let sum = GridSync::<f32>::new(&stream, variant).unwrap();
            let most = sum.max_blocks();
            let config = sum.plan(1 << 28);
            assert!(config.cooperative);
            assert_eq!((config.blocks(), config.threads_per_block()), (most.into(), 256));
            assert_eq!((sum.plan(1).blocks(), sum.plan(257).blocks()), (1, 2), "no more than there is work for");
            for blocks in [(1 << 28) / 256, most + 1] {
                match GridSync::<f32>::with_blocks(&stream, variant, blocks) {
                    Err(Error::CooperativeTooLarge { asked, maximum, .. }) => {
                        assert_eq!((asked, maximum), (blocks.into(), most.into()));
                    }
                    other => panic!("{blocks} blocks: {other:?}"),
                }
            }
            let none = GridSync::<f32>::with_blocks(&stream, variant, 0);
            assert!(matches!(none, Err(Error::InvalidLaunch { asked: 0, .. })), "{none:?}");
        }
    }
}

#[test]
fn a_device_without_cooperative_launches_is_a_typed_error() {
    let stream = Device::open("sim:cooperative=no").unwrap().stream().unwrap();
    for variant in Variant::ALL {
        let refused = GridSync::<f32>::new(&stream, variant);
        assert!(matches!(refused, Err(Error::Unsupported { what: "cooperative launches", .. })), "{refused:?}");
        let refused = GridSync::<f32>::with_blocks(&stream, variant, 1);
        assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
    }
}

/// As the documentation says: the order depends on the number of elements and of blocks.
#[test]
fn equal_blocks_give_equal_bits_on_all_devices() {
    let values: Vec<f32> = Input { values: Values::Uniform, seed: 20 }.generate(9001);
    for variant in Variant::ALL {
        let mut first = None;
        for device in cooperative_devices() {
            let stream = device.stream().unwrap();
            let x = stream.upload(&values).unwrap();
            let sum = GridSync::<f32>::with_blocks(&stream, variant, 7).unwrap().sum(x.as_slice()).unwrap();
            assert_eq!(sum.to_bits(), *first.get_or_insert(sum.to_bits()), "{variant} on {device:?}");
        }
    }
}

/// More elements than 32 bits count are planned, without allocating them.
#[test]
fn plans_past_32_bits() {
    let stream = Device::open("sim").unwrap().stream().unwrap();
    for n in [1u64 << 32, (1 << 32) + 5, u64::MAX] {
        for variant in Variant::ALL {
            let sum = GridSync::<f32>::new(&stream, variant).unwrap();
            assert_eq!(sum.plan(n).blocks(), sum.max_blocks().into());
        }
    }
}
