//! Bulk copies, for slices of any size. Where a device has none, there is nothing to test.

use kernels_common::device::{BackendKind, Device};
use kernels_common::element::{Element, f16};
use kernels_common::error::{Error, Result};
use kernels_common::for_every_element;
use kernels_common::launch::LaunchConfig;
use kernels_common::module;
use kernels_common::stream::Stream;
use kernels_common::testing::golden::bits;
use kernels_common::testing::schedules::on_every_schedule;
use kernels_common::testing::{Input, Values, devices, gpu, inputs, upload_at};
use proptest::prelude::*;

use crate::{BULK_FROM, BULK_PTX, Maximum, Minimum, Operation, PTX, Plus, Product, Reduce, SinglePass};

/// Bytes of a stage of the ring, and of a row of it.
const STAGE: usize = 32 << 10;
const ROW: usize = 8 << 10;

/// A reduction that takes slices of any size in by bulk copies; `None` where the device has none.
fn in_bulk<T: Element, Op: Operation<T>>(stream: &Stream) -> Result<Option<Reduce<T, Op>>> {
    let reduce = Reduce::with_bulk_from(stream, 0)?;
    Ok((reduce.plan(1).shared_bytes > 0).then_some(reduce))
}

/// The devices that have bulk copies.
fn able_devices() -> impl Iterator<Item = Device> {
    let in_order = Device::open("sim:sms=2,cc=9.0").unwrap();
    let is_able = |device: &Device| in_bulk::<f32, Plus>(&device.stream().unwrap()).unwrap().is_some();
    assert!(is_able(&in_order));
    devices().iter().filter(move |&device| is_able(device)).cloned().chain([in_order])
}

/// Compares the bits with the host's. The slice starts `packets` packets into a buffer, and ends where that ends.
fn check<T: Element, Op: Operation<T>>(device: &Device, values: &[T], packets: usize) -> Result<(), TestCaseError> {
    let stream = device.stream().unwrap();
    let Some(mut reduce) = in_bulk::<T, Op>(&stream).unwrap() else { return Ok(()) };
    let offset = packets * (16 / size_of::<T>());
    let x = upload_at(&stream, values, offset).unwrap();
    let context = format!("{} of {} {} on {device:?}", Op::NAME, values.len(), T::NAME);
    let result = reduce.value(x.slice(offset..).unwrap());
    let result = result.unwrap_or_else(|error| panic!("{context}: {error}"));
    let expected = Op::canonical(values);
    prop_assert_eq!(bits(result), bits(expected), "{}: {:?}, on the host {:?}", context, result, expected);
    Ok(())
}

/// Sizes in bytes from nothing through several virtual blocks, with a liking for those beside a row, a stage, and a
/// number of virtual blocks that goes round the ring.
fn sizes() -> impl Strategy<Value = usize> {
    let rows = (0usize..=20).prop_map(|rows| rows * ROW);
    let stages = (1usize..=8).prop_map(|stages| stages * STAGE);
    let beside = prop_oneof![rows, stages, Just(16 * STAGE), Just(20 * STAGE)];
    (beside, -70isize..=70).prop_map(|(size, by)| size.saturating_add_signed(by))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn every_operation_and_type_agrees_with_the_host(size in sizes(), input in inputs(), packets in 0usize..3) {
        fn check_all<T: Element>(size: usize, input: Input, packets: usize) -> Result<(), TestCaseError> {
            let values: Vec<T> = input.generate(size / size_of::<T>());
            for device in able_devices() {
                check::<T, Plus>(&device, &values, packets)?;
                check::<T, Product>(&device, &values, packets)?;
                check::<T, Minimum>(&device, &values, packets)?;
                check::<T, Maximum>(&device, &values, packets)?;
            }
            Ok(())
        }
        for_every_element!(check_all(size, input, packets));
    }
}

/// The sum by the kernel `name`, in virtual blocks of `2^log2_v` elements.
fn sum_by<T: Element>(
    stream: &Stream,
    kernel: (&'static [module::Ptx], &str),
    values: &[T],
    log2_v: u32,
    config: LaunchConfig,
) -> Result<u64> {
    let (variants, name) = kernel;
    let [kernel] = module::load(stream, variants, [&format!("{name}_{}", T::NAME)])?;
    let (n, virtual_blocks) = (values.len() as u64, values.len().div_ceil(1 << log2_v).max(1));
    let x = stream.upload(values)?;
    let mut partials = stream.alloc_zeros::<T::Sum>(virtual_blocks.next_multiple_of(8))?;
    let mut counter = stream.alloc_zeros::<u32>(1)?;
    let mut out = stream.alloc_uninit::<T::Sum>(1)?;
    let config = LaunchConfig { grid: [config.grid[0].min(virtual_blocks as u32), 1, 1], ..config };
    let arguments = (
        x.as_slice(),
        n,
        log2_v,
        virtual_blocks as u32,
        partials.as_slice_mut(),
        counter.as_slice_mut(),
        out.as_slice_mut(),
    );
    // SAFETY: x has n elements, there is a partial for each virtual block, up to a multiple of 8, and the counter is
    // zero.
    unsafe { kernel.launch(config, arguments)? };
    assert_eq!(counter.download()?, [0]);
    Ok(bits(out.download()?[0]))
}

/// Compares the sum of `n` elements by bulk copies with that by loads, in virtual blocks of so many stages that `grid`
/// real blocks walk.
fn check_stages<T: Element>(device: &Device, stages: usize, grid: u32, n: usize) -> Result<()> {
    let stream = device.stream()?;
    let Some(reduce) = in_bulk::<T, Plus>(&stream)? else { return Ok(()) };
    let log2_v = (stages * STAGE / size_of::<T>()).ilog2();
    let values: Vec<T> = Input { values: Values::Uniform, seed: n as u64 }.generate(n);
    let config = LaunchConfig::linear(grid, 512);
    let expected = sum_by(&stream, (PTX, "single_pass_sum"), &values, log2_v, config)?;
    let config = LaunchConfig { shared_bytes: reduce.plan(1).shared_bytes, ..config };
    let result = sum_by(&stream, (BULK_PTX, "single_pass_sum_bulk"), &values, log2_v, config)?;
    assert_eq!(result, expected, "{n} {} in {stages} stages on {device:?}", T::NAME);
    Ok(())
}

/// Virtual blocks of several stages, as large slices have them, on few real blocks: lengths around each border of a
/// stage, and thus of a virtual block, and around one of a row.
#[test]
fn stages_and_virtual_blocks_end_anywhere() {
    fn check<T: Element>(stages: usize, grid: u32, ends: &[usize]) -> Result<()> {
        let lanes = 16 / size_of::<T>() as isize;
        for device in able_devices() {
            for &end in ends {
                for by in [-lanes - 1, -lanes, -1, 0, 1, lanes + 1] {
                    check_stages::<T>(&device, stages, grid, (end / size_of::<T>()).saturating_add_signed(by))?;
                }
            }
        }
        Ok(())
    }
    let two: Vec<usize> = (1..=7).map(|stage| stage * STAGE).chain([5 * ROW, 17 * ROW]).collect();
    check::<f32>(2, 1, &two).unwrap();
    check::<f64>(2, 2, &two).unwrap();
    check::<f16>(2, 2, &two[3..]).unwrap();
    // Nine stages of each of two real blocks, before and beyond the end of the ring.
    check::<f32>(4, 2, &[17 * STAGE, 20 * STAGE]).unwrap();
    // As many stages as slices of the size have that bulk copies are for.
    check::<i32>(16, 2, &[34 * STAGE]).unwrap();
}

/// No schedule of the simulator leads to a fault, or to other bits, whether all warps meet after each stage, as a
/// virtual block ends there, or some may be several stages ahead of others. All real blocks go round the ring.
#[test]
fn every_schedule_is_clean() {
    fn check_sum<T: Element>(device: &Device) -> Result<()> {
        let values: Vec<T> = Input { values: Values::Uniform, seed: 35 }.generate((260 << 10) / size_of::<T>() + 1);
        let checked = check::<T, Plus>(device, &values, 1);
        checked.unwrap_or_else(|error| panic!("{error}"));
        Ok(())
    }
    on_every_schedule("sms=2,cc=9.0", |device| {
        check_sum::<f32>(device)?;
        check_sum::<f16>(device)?;
        check_stages::<u64>(device, 8, 1, 9 * STAGE / size_of::<u64>() + 5)
    });
}

#[test]
fn a_misaligned_slice_goes_another_way() {
    for device in able_devices() {
        let stream = device.stream().unwrap();
        let values: Vec<f32> = Input { values: Values::Uniform, seed: 4 }.generate(70_001);
        let x = stream.upload(&values).unwrap();
        let mut sum = in_bulk::<f32, Plus>(&stream).unwrap().unwrap();
        for start in [1, 0, 3, 4] {
            let expected = SinglePass::canonical(&values[start..]);
            assert_eq!(sum.value(x.slice(start..).unwrap()).unwrap().to_bits(), expected.to_bits(), "{device:?}");
        }
    }
}

/// The bytes of a slice up to which launches of so few blocks overlap.
const OVERLAPPING_TO: u64 = 256 << 20;

#[test]
fn plans_tell_which_slices_are_copied_in_bulk_and_which_launches_overlap() {
    fn plan<T: Element>(selector: &str, bytes: u64) -> LaunchConfig {
        let stream = Device::open(selector).unwrap().stream().unwrap();
        SinglePass::<T>::new(&stream).unwrap().plan(bytes / size_of::<T>() as u64)
    }
    let portable = LaunchConfig::linear(8, 512);
    let bulk = LaunchConfig { shared_bytes: 6 * STAGE as u32, ..LaunchConfig::linear(4, 512) };
    for able in ["sim:sms=4,cc=9.0", "sim:sms=4,cc=10.0"] {
        assert_eq!(plan::<f64>(able, BULK_FROM - 8), portable, "{able}");
        assert_eq!(plan::<f32>(able, BULK_FROM), bulk.overlapping(), "{able}");
        assert_eq!(plan::<f16>(able, OVERLAPPING_TO), bulk.overlapping(), "{able}");
        assert_eq!(plan::<f32>(able, OVERLAPPING_TO + 4), bulk, "{able}");
        assert_eq!(plan::<f64>(able, u64::MAX), bulk, "{able}");
    }
    for unable in ["sim:sms=4", "sim:sms=4,cc=8.0", "sim:sms=4,cc=12.0"] {
        for bytes in [BULK_FROM, OVERLAPPING_TO + 4] {
            assert_eq!(plan::<f32>(unable, bytes), portable, "{unable}");
        }
    }
}

/// Elements that nobody wrote, wherever they are. A GPU runs nothing after a fault, so this is for the simulator.
#[test]
fn a_fault_leaves_the_object_usable() {
    for device in able_devices().filter(|device| device.properties().backend == BackendKind::Sim) {
        let (stream, n) = (device.stream().unwrap(), 70_001);
        let ones = stream.upload(&vec![1.0f32; n]).unwrap();
        let mut sum = in_bulk::<f32, Plus>(&stream).unwrap().unwrap();
        for missing in [0, 40_000, n - 2, n - 1] {
            let mut unfinished = stream.alloc_uninit::<f32>(n).unwrap();
            unfinished.slice_mut(..missing).unwrap().fill_zero().unwrap();
            unfinished.slice_mut(missing + 1..).unwrap().fill_zero().unwrap();
            assert!(matches!(sum.value(&unfinished), Err(Error::Fault(_))), "{missing} on {device:?}");
            assert_eq!(sum.value(&ones).unwrap(), n as f32, "{missing} on {device:?}");
        }
    }
}

#[test]
fn a_device_that_is_too_old_is_told_so() {
    let stream = Device::open("sim:cc=8.0").unwrap().stream().unwrap();
    let error = module::load(&stream, BULK_PTX, ["single_pass_sum_bulk_f32"]).unwrap_err();
    assert!(matches!(error, Error::NoVariant { capability: (8, 0), .. }), "{error}");
    assert!(error.to_string().contains("`bulk`") && error.to_string().contains("9.0"), "{error}");
}

/// Slices as large as bulk copies are for, past the end of their last whole stage, in launches that overlap and in ones
/// that do not. The simulator would take minutes.
#[test]
fn large_slices_on_a_gpu() {
    let Some(device) = gpu() else { return };
    let stream = device.stream().unwrap();
    let [mut bulk, mut portable] =
        [BULK_FROM, u64::MAX].map(|from| SinglePass::<f32>::with_bulk_from(&stream, from).unwrap());
    let mut out = stream.alloc_zeros::<f32>(9).unwrap();
    for bytes in [BULK_FROM, OVERLAPPING_TO] {
        let n = bytes as usize / size_of::<f32>() + 12_345;
        let values: Vec<f32> = Input { values: Values::Uniform, seed: 29 }.generate(n);
        let x = stream.upload(&values).unwrap();
        let expected = SinglePass::canonical(&values).to_bits();
        portable.enqueue(&x, out.slice_mut(..1).unwrap()).unwrap();
        // One after another, without a wait.
        for place in 1..out.len() {
            bulk.enqueue(&x, out.slice_mut(place..=place).unwrap()).unwrap();
        }
        for (place, result) in out.download().unwrap().into_iter().enumerate() {
            assert_eq!(result.to_bits(), expected, "result {place} of {n} on {device:?}");
        }
    }
}
