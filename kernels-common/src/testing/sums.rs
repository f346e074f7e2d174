//! What every crate of sums is tested for. A crate describes its sums as a [`Family`]; each function here is one test
//! over all of them, for every element type, on every device. [`sum_tests!`](crate::sum_tests) makes tests of all
//! functions.

use std::collections::HashMap;
use std::fmt::Debug;

use half::{bf16, f16};
use proptest::prelude::*;

use super::schedules::on_every_schedule;
use super::{Input, Offset, Values, devices, every_offset, pairwise};
use crate::device::{BackendKind, Device};
use crate::element::{Accumulator, Element};
use crate::error::{Error, Result};
use crate::for_every_element;
use crate::graph::Graph;
use crate::memory::DeviceBuffer;
use crate::oracle;
use crate::stream::Stream;
use crate::sum::Sum;

/// The sums of one crate.
pub trait Family {
    /// What tells one from another: a variant, or a variant and the size of its blocks.
    type Member: Copy + Debug;

    /// Every variant, each with the block sizes that a test should not miss.
    fn members() -> Vec<Self::Member>;

    /// One of them for elements of type `T`. [`Error::NoVariant`] and [`Error::Unsupported`] mean that the device
    /// cannot run it, which the tests accept.
    ///
    /// # Errors
    /// Whatever the crate's constructor gives.
    fn make<T: Element>(member: Self::Member, stream: &Stream) -> Result<Box<dyn Sum<T>>>;

    /// Whether the member can sum elements of type `T` at all.
    #[must_use]
    fn takes<T: Element>(member: Self::Member) -> bool {
        let _ = member;
        true
    }
}

/// The tests of all sums for one family, by the names of the functions in [`testing::sums`](crate::testing::sums):
/// `sum_tests!(Family, cases: 16)`, where `cases` is how many inputs the property is tried with.
///
/// The crate that calls it depends on proptest.
#[macro_export]
macro_rules! sum_tests {
    ($Family:ty, cases: $cases:literal) => {
        ::proptest::proptest! {
            #![proptest_config(::proptest::test_runner::Config {
                cases: $cases,
                ..::proptest::test_runner::Config::default()
            })]

            #[test]
            fn every_variant_and_type_agrees_with_the_exact_sum(
                n in $crate::testing::lengths(),
                input in $crate::testing::inputs(),
                offset in $crate::testing::offsets(),
            ) {
                $crate::testing::sums::agrees_with_the_exact_sum::<$Family>(n, input, offset)?;
            }
        }

        ::proptest::proptest! {
            #![proptest_config(::proptest::test_runner::Config {
                cases: 4,
                ..::proptest::test_runner::Config::default()
            })]

            #[test]
            fn a_graph_gives_what_calls_give(
                n in $crate::testing::lengths(),
                inputs in ::proptest::collection::vec($crate::testing::inputs(), 1..4),
                offset in $crate::testing::offsets(),
            ) {
                $crate::testing::sums::a_graph_gives_what_calls_give::<$Family>(n, &inputs, offset)?;
            }
        }

        $crate::sum_tests!(@plain $Family: tails_count_once, narrow_types_do_not_saturate,
            special_values_follow_one_policy, reproducible_bits_repeat, every_schedule_is_clean,
            wrong_input_is_a_typed_error, a_fault_leaves_the_object_usable, a_fault_in_a_graph_leaves_it_usable,
            any_number_of_elements_has_a_depth);
    };
    (@plain $Family:ty: $($test:ident),+) => {
        $(
            #[test]
            fn $test() {
                $crate::testing::sums::$test::<$Family>();
            }
        )+
    };
}

/// Calls `test` with each member of the family that the device can run, and a name for messages.
///
/// # Panics
/// If a member cannot be made for another reason than that the device cannot run it.
fn for_each_member<F: Family, T: Element>(device: &Device, mut test: impl FnMut(&mut dyn Sum<T>, &str)) {
    let stream = device.stream().unwrap();
    let mut ran = 0;
    for member in F::members().into_iter().filter(|&member| F::takes::<T>(member)) {
        let context = format!("{member:?} for {} on {device:?}", T::NAME);
        match F::make::<T>(member, &stream) {
            Ok(mut sum) => {
                test(&mut *sum, &context);
                ran += 1;
            }
            Err(Error::NoVariant { .. } | Error::Unsupported { .. }) => {}
            Err(error) => panic!("{context}: {error}"),
        }
    }
    let expected = F::members().into_iter().any(|member| F::takes::<T>(member));
    assert!(ran > 0 || !expected, "{} on {device:?}: nothing could be run", T::NAME);
}

/// The sum of `values`, which lie `offset` elements into a buffer between elements that must not count. On the
/// simulator nothing lies behind them: there a read past the end is a fault.
fn sum_at<T: Element>(sum: &mut dyn Sum<T>, values: &[T], offset: usize) -> Result<T::Sum> {
    let stray = T::from_f64(77.0);
    let behind = if sum.stream().device().properties().backend == BackendKind::Sim { 0 } else { 3 };
    let mut padded = vec![stray; offset];
    padded.extend_from_slice(values);
    padded.extend(vec![stray; behind]);
    let buffer = sum.stream().upload(&padded)?;
    sum.sum(buffer.slice(offset..offset + values.len())?)
}

/// Whether `result` is a sum of `values`: within the bound of the variant's depth of the exact sum, as that of a
/// library for processors is within its own.
fn is_sum<T: Element>(sum: &dyn Sum<T>, values: &[T], result: T::Sum) -> bool {
    let exact = oracle::sum(values);
    let n = values.len() as u64;
    let pairwise = pairwise::sum(values);
    let within = |result, bound| exact.error_of(result) <= bound;
    exact.may_overflow()
        || within(result, exact.bound(sum.depth(n), n)) && within(pairwise.value, pairwise.bound(&exact))
}

/// A property: the sum of `n` elements of every type, which start at an offset that may misalign them, is right.
///
/// # Errors
/// The failed case, for proptest.
pub fn agrees_with_the_exact_sum<F: Family>(n: usize, input: Input, offset: Offset) -> Result<(), TestCaseError> {
    fn check<F: Family, T: Element>(n: usize, input: Input, offset: Offset) -> Result<(), TestCaseError> {
        let values: Vec<T> = input.generate(n);
        let mut failed = None;
        for device in devices() {
            for_each_member::<F, T>(device, |sum, context| {
                let result = sum_at(sum, &values, offset.elements::<T>()).unwrap();
                if !is_sum(sum, &values, result) {
                    failed = Some(format!("{context}: {result:?}, exact {:?}", oracle::sum(&values)));
                }
            });
        }
        prop_assert!(failed.is_none(), "{}", failed.unwrap_or_default());
        Ok(())
    }
    for_every_element!(check::<F>(n, input, offset));
    Ok(())
}

/// Lengths around those at which a tile, a warp or a block has a tail, misaligned ones among them; every element is
/// one. A single element of every type at every place within a packet. And nothing, for which nothing is launched.
///
/// # Panics
/// If a sum is wrong.
pub fn tails_count_once<F: Family>() {
    fn check<F: Family, T: Element>(device: &Device) -> Result<()> {
        for_each_member::<F, T>(device, |sum, context| {
            for n in [0usize, 1, 2, 31, 32, 33, 255, 256, 257, 1000, 1023, 1024, 1025, 2047, 4097] {
                let result = sum_at(sum, &vec![T::from_f64(1.0); n], n % 5).unwrap();
                assert_eq!(result.to_f64(), n as f64, "{n} ones, {context}");
            }
        });
        Ok(())
    }
    fn check_few<F: Family, T: Element>(device: &Device) -> Result<()> {
        for_each_member::<F, T>(device, |sum, context| {
            for offset in every_offset::<T>() {
                let result = sum_at(sum, &[T::from_f64(3.0)], offset).unwrap();
                assert_eq!(result.to_f64(), 3.0, "one element at {offset}, {context}");
            }
        });
        // A device of its own: the other's counters are shared with tests that run at the same time.
        let device = Device::open(&device.properties().selector).unwrap();
        for_each_member::<F, T>(&device, |sum, context| {
            // A stale result does not stay.
            let mut output = sum.stream().upload(&[<T::Sum as Element>::from_f64(7.0)]).unwrap();
            let empty = sum.stream().alloc_zeros::<T>(0).unwrap();
            sum.enqueue(empty.as_slice(), output.as_slice_mut()).unwrap();
            assert_eq!(output.download().unwrap()[0].bits(), 0, "the sum of nothing, {context}");
        });
        // A GPU does not count; there a launch without blocks would have been an error.
        assert!(device.take_counters().is_none_or(|counters| counters == Default::default()), "{}", T::NAME);
        Ok(())
    }
    for device in devices() {
        let run = || -> Result<()> {
            for_every_element!(check_few::<F>(device));
            // One type of each size.
            check::<F, f16>(device)?;
            check::<F, i32>(device)?;
            check::<F, f64>(device)
        };
        run().unwrap();
    }
}

/// Sums live in a wider type: halves and narrow integers do not saturate or wrap, 64-bit integers wrap.
///
/// # Panics
/// If a sum is wrong.
pub fn narrow_types_do_not_saturate<F: Family>() {
    for device in devices() {
        for_each_member::<F, f16>(device, |sum, context| {
            assert_eq!(sum_at(sum, &[f16::ONE; 4096], 1).unwrap(), 4096.0, "{context}");
            assert_eq!(sum_at(sum, &[f16::MAX; 100], 0).unwrap(), 6_550_400.0, "{context}");
        });
        for_each_member::<F, bf16>(device, |sum, context| {
            assert_eq!(sum_at(sum, &vec![bf16::ONE; 70_000], 1).unwrap(), 70_000.0, "{context}");
        });
        for_each_member::<F, i32>(device, |sum, context| {
            let result = sum_at(sum, &[i32::MAX; 5000], 1).unwrap();
            assert_eq!(result, 5000 * i64::from(i32::MAX), "{context}");
            let result = sum_at(sum, &[i32::MIN; 5000], 3).unwrap();
            assert_eq!(result, 5000 * i64::from(i32::MIN), "{context}");
        });
        for_each_member::<F, u32>(device, |sum, context| {
            let result = sum_at(sum, &[u32::MAX; 5000], 1).unwrap();
            assert_eq!(result, 5000 * u64::from(u32::MAX), "{context}");
        });
        for_each_member::<F, i64>(device, |sum, context| {
            assert_eq!(sum_at(sum, &[i64::MAX, 1, 5], 1).unwrap(), i64::MIN + 5, "{context}");
        });
        for_each_member::<F, u64>(device, |sum, context| {
            assert_eq!(sum_at(sum, &[u64::MAX; 3000], 1).unwrap(), 3000u64.wrapping_neg(), "{context}");
        });
    }
}

/// NaN wherever it is, infinities, and the sign of zero.
///
/// # Panics
/// If a sum breaks the policy that [`Sum`] documents.
pub fn special_values_follow_one_policy<F: Family>() {
    fn check<F: Family, T: Element>(device: &Device) {
        for_each_member::<F, T>(device, |sum, context| {
            let n = 2500;
            for positions in [vec![0], vec![1], vec![n / 2], vec![n - 1], (0..n).collect()] {
                let mut values = vec![T::from_f64(1.0); n];
                for &position in &positions {
                    values[position] = T::from_f64(f64::NAN);
                }
                for offset in [0, 1] {
                    let result = sum_at(sum, &values, offset).unwrap();
                    let (count, first) = (positions.len(), positions[0]);
                    assert!(result.to_f64().is_nan(), "{count} NaN from {first}, {context}: {result}");
                }
            }
            let infinity = T::from_f64(f64::INFINITY);
            assert_eq!(sum_at(sum, &[infinity; 10], 1).unwrap().to_f64(), f64::INFINITY, "{context}");
            let both = [infinity, T::from_f64(f64::NEG_INFINITY)];
            assert!(sum_at(sum, &both, 0).unwrap().to_f64().is_nan(), "{context}");
            for n in [1, 3, 32, 256, 2048] {
                let result = sum_at(sum, &vec![T::from_f64(-0.0); n], 1).unwrap();
                assert_eq!(result.bits(), 0, "{n} negative zeros, {context}: {result}");
            }
        });
    }
    for device in devices() {
        check::<F, f32>(device);
        check::<F, f64>(device);
        check::<F, f16>(device);
        check::<F, bf16>(device);
    }
}

/// The same input gives the same bits a hundred times where a member says so: on a simulator under a hundred schedules.
///
/// # Panics
/// If it does not.
pub fn reproducible_bits_repeat<F: Family>() {
    /// On each of `devices`, which differ in nothing but their schedule.
    fn check<F: Family, T: Element>(devices: &[Device], n: usize, runs: u32) -> Result<()> {
        let values: Vec<T> = Input { values: Values::Uniform, seed: 34 }.generate(n);
        for member in F::members().into_iter().filter(|&member| F::takes::<T>(member)) {
            let mut first = None;
            for device in devices {
                let stream = device.stream()?;
                let mut sum = match F::make::<T>(member, &stream) {
                    Err(Error::NoVariant { .. } | Error::Unsupported { .. }) => continue,
                    made => made?,
                };
                if !sum.is_reproducible() {
                    break;
                }
                let input = stream.upload(&values)?;
                for run in 0..runs {
                    let bits = sum.sum(input.as_slice())?.bits();
                    assert_eq!(bits, *first.get_or_insert(bits), "run {run}: {member:?} for {} on {device:?}", T::NAME);
                }
            }
        }
        Ok(())
    }
    let is_simulator = |device: &Device| device.properties().backend == BackendKind::Sim;
    let run = || -> Result<()> {
        if devices().iter().any(is_simulator) {
            let schedules: Vec<Device> =
                (0..100).map(|seed| Device::open(&format!("sim:seed={seed}"))).collect::<Result<_>>()?;
            check::<F, f32>(&schedules, 5000, 1)?;
            check::<F, i32>(&schedules[..5], 5000, 1)?;
        }
        for gpu in devices().iter().filter(|device| !is_simulator(device)) {
            check::<F, f32>(std::slice::from_ref(gpu), 1 << 20, 100)?;
            check::<F, f64>(std::slice::from_ref(gpu), 1 << 20, 100)?;
            check::<F, u64>(std::slice::from_ref(gpu), 1 << 20, 100)?;
        }
        Ok(())
    };
    run().unwrap();
}

/// No schedule of the simulator leads to a fault or a wrong sum, and none to other bits where a member says so. There
/// are several blocks of every variant.
///
/// # Panics
/// If it is otherwise; says under which schedule.
pub fn every_schedule_is_clean<F: Family>() {
    /// The bits of reproducible sums, by what they are a sum of.
    type Bits = HashMap<String, u64>;

    fn check<F: Family, T: Element>(device: &Device, first: &mut Bits) {
        let values: Vec<T> = Input { values: Values::Uniform, seed: 35 }.generate(5000);
        let stream = device.stream().unwrap();
        for member in F::members().into_iter().filter(|&member| F::takes::<T>(member)) {
            let context = format!("{member:?} for {}", T::NAME);
            let mut sum = match F::make::<T>(member, &stream) {
                Err(Error::NoVariant { .. } | Error::Unsupported { .. }) => continue,
                made => made.unwrap_or_else(|error| panic!("{context}: {error}")),
            };
            let result = sum_at(&mut *sum, &values, 1).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert!(is_sum(&*sum, &values, result), "{context}: {result:?}, exact {:?}", oracle::sum(&values));
            if sum.is_reproducible() {
                let bits = result.bits();
                assert_eq!(bits, *first.entry(context.clone()).or_insert(bits), "{context}: {result:?}");
            }
        }
    }
    let mut first = Bits::new();
    on_every_schedule("sms=4", |device| {
        check::<F, f32>(device, &mut first);
        check::<F, f16>(device, &mut first);
        check::<F, u64>(device, &mut first);
        Ok(())
    });
}

/// Mistakes are typed errors, and the object goes on working; one object serves many lengths and writes nothing but its
/// one result.
///
/// # Panics
/// If it is otherwise.
pub fn wrong_input_is_a_typed_error<F: Family>() {
    for device in devices() {
        let other = device.stream().unwrap();
        for_each_member::<F, f64>(device, |sum, context| {
            let stream = sum.stream().clone();
            let x = stream.upload(&[1.0f64; 70_000]).unwrap();
            let elsewhere = other.upload(&[1.0f64; 4]).unwrap();
            let mut far = other.alloc_zeros::<f64>(1).unwrap();
            let mut out = stream.upload(&[-7.0f64; 9]).unwrap();
            let two = sum.enqueue(x.as_slice(), out.slice_mut(..2).unwrap());
            assert!(
                matches!(two, Err(Error::LengthMismatch { what: "the output", expected: 1, found: 2 })),
                "{context}"
            );
            let none = sum.enqueue(x.as_slice(), out.slice_mut(..0).unwrap());
            assert!(matches!(none, Err(Error::LengthMismatch { found: 0, .. })), "{context}");
            let foreign = sum.enqueue(elsewhere.as_slice(), out.slice_mut(..1).unwrap());
            assert!(matches!(foreign, Err(Error::StreamMismatch { what: "the input" })), "{context}");
            let foreign = sum.enqueue(x.as_slice(), far.as_slice_mut());
            assert!(matches!(foreign, Err(Error::StreamMismatch { what: "the output" })), "{context}");
            for (index, n) in [70_000, 1, 0, 4097, 2048, 69_999].into_iter().enumerate() {
                sum.enqueue(x.slice(..n).unwrap(), out.slice_mut(index + 1..index + 2).unwrap()).unwrap();
            }
            let expected = [-7.0, 70_000.0, 1.0, 0.0, 4097.0, 2048.0, 69_999.0, -7.0, -7.0];
            assert_eq!(out.download().unwrap(), expected, "{context}");
        });
    }
}

/// Elements that nobody wrote are a fault, wherever they are, and the object goes on working: a launch that ended half
/// way leaves no counter, partial result or result behind. A GPU runs nothing after a fault, so this is for the
/// simulator.
///
/// # Panics
/// If it is otherwise.
pub fn a_fault_leaves_the_object_usable<F: Family>() {
    // Several blocks of every variant, and several virtual blocks of the canonical order.
    let n = 70_000;
    for selector in ["sim:sms=4", "sim:sms=3,seed=1,cc=8.0"] {
        let device = Device::open(selector).unwrap();
        for_each_member::<F, i32>(&device, |sum, context| {
            let stream = sum.stream().clone();
            let ones = stream.upload(&vec![1i32; n]).unwrap();
            for hole in [0, n - 1] {
                let mut unfinished = stream.alloc_uninit::<i32>(n).unwrap();
                unfinished.slice_mut(..hole).unwrap().fill_zero().unwrap();
                unfinished.slice_mut(hole + 1..).unwrap().fill_zero().unwrap();
                let faulty = sum.sum(unfinished.as_slice());
                assert!(matches!(faulty, Err(Error::Fault(_))), "nothing at {hole}, {context}: {faulty:?}");
                assert_eq!(sum.sum(ones.as_slice()).unwrap(), n as i64, "after a fault at {hole}, {context}");
            }
        });
    }
}

/// What a graph of a sum works on.
struct Captured<T: Element> {
    sum: Box<dyn Sum<T>>,
    input: DeviceBuffer<T>,
    /// Where the elements start.
    offset: usize,
    outputs: DeviceBuffer<T::Sum>,
}

impl<T: Element> Captured<T> {
    /// Room for `n` elements at an offset, and for the results of two calls.
    fn new(mut sum: Box<dyn Sum<T>>, n: usize, offset: usize) -> Result<Self> {
        sum.reserve(n)?;
        let stream = sum.stream();
        let (input, outputs) = (stream.alloc_uninit(offset + n)?, stream.alloc_zeros(2)?);
        Ok(Self { sum, input, offset, outputs })
    }

    fn graph(self) -> Result<Graph<Self>> {
        let stream = self.sum.stream().clone();
        Graph::capture(&stream, self, Self::record)
    }

    fn record(&mut self) -> Result<()> {
        let Self { sum, input, offset, outputs } = self;
        (0..2).try_for_each(|call| sum.enqueue(input.slice(*offset..)?, outputs.slice_mut(call..=call)?))
    }
}

/// Two calls in a graph, launched for one input after another, of which every other one lies in memory that the graph is
/// updated for, and then an object's own calls: the bits of a call where a member is reproducible, else a sum within its
/// bound.
///
/// # Errors
/// The failed case, for proptest.
pub fn a_graph_gives_what_calls_give<F: Family>(
    n: usize,
    inputs: &[Input],
    offset: Offset,
) -> Result<(), TestCaseError> {
    fn check<F: Family, T: Element>(n: usize, inputs: &[Input], offset: usize) -> Result<(), TestCaseError> {
        for device in devices() {
            let stream = device.stream().unwrap();
            for member in F::members().into_iter().filter(|&member| F::takes::<T>(member)) {
                let sum = match F::make::<T>(member, &stream) {
                    Err(Error::NoVariant { .. } | Error::Unsupported { .. }) => continue,
                    made => made.unwrap(),
                };
                let mut graph = Captured::new(sum, n, offset).unwrap().graph().unwrap();
                for (index, input) in inputs.iter().enumerate() {
                    let values: Vec<T> = input.generate(n);
                    if index % 2 == 1 {
                        graph.resources_mut().input = stream.alloc_uninit(offset + n).unwrap();
                        graph.update(Captured::record).unwrap();
                    }
                    let buffer = &mut graph.resources_mut().input;
                    buffer.slice_mut(offset..).unwrap().copy_from(&values).unwrap();
                    graph.launch().unwrap();
                    let Captured { sum, input, outputs, .. } = graph.resources_mut();
                    let called = sum.sum(input.slice(offset..).unwrap()).unwrap();
                    for result in outputs.download().unwrap() {
                        let right = if sum.is_reproducible() {
                            result.bits() == called.bits()
                        } else {
                            is_sum(&**sum, &values, result)
                        };
                        let context = format!("{member:?} for {} on {device:?}", T::NAME);
                        prop_assert!(right, "{context}: {result:?} in a graph, {called:?} called");
                    }
                }
            }
        }
        Ok(())
    }
    check::<F, f32>(n, inputs, offset.elements::<f32>())?;
    check::<F, f16>(n, inputs, offset.elements::<f16>())?;
    check::<F, i64>(n, inputs, offset.elements::<i64>())
}

/// As [`a_fault_leaves_the_object_usable`], with the fault in a launch of a graph.
///
/// # Panics
/// If it is otherwise.
pub fn a_fault_in_a_graph_leaves_it_usable<F: Family>() {
    let n = 70_000;
    for selector in ["sim:sms=4", "sim:sms=3,seed=1,cc=8.0"] {
        let stream = Device::open(selector).unwrap().stream().unwrap();
        for member in F::members().into_iter().filter(|&member| F::takes::<i32>(member)) {
            let sum = match F::make::<i32>(member, &stream) {
                Err(Error::NoVariant { .. } | Error::Unsupported { .. }) => continue,
                made => made.unwrap(),
            };
            let mut graph = Captured::new(sum, n, 0).unwrap().graph().unwrap();
            let mut written = |value: i32, hole: usize| {
                // New memory, in which one element is not written.
                let stream = graph.stream().clone();
                let mut input = stream.alloc_uninit(n).unwrap();
                input.slice_mut(..hole).unwrap().copy_from(&vec![value; hole]).unwrap();
                if hole < n {
                    input.slice_mut(hole + 1..).unwrap().copy_from(&vec![value; n - hole - 1]).unwrap();
                }
                graph.resources_mut().input = input;
                graph.update(Captured::record).unwrap();
                graph.launch().map(|()| graph.resources().outputs.download().unwrap())
            };
            for hole in [0, n - 1] {
                let faulty = written(7, hole);
                assert!(matches!(faulty, Err(Error::Fault(_))), "{member:?} on {selector}: {faulty:?}");
                let sums = written(1, n).unwrap();
                assert_eq!(sums, [n as i64; 2], "{member:?} on {selector}, after a fault at {hole}");
            }
        }
    }
}

/// A number of elements that no memory holds has a depth all the same, and memory for it is refused or not needed.
///
/// # Panics
/// If it is otherwise.
pub fn any_number_of_elements_has_a_depth<F: Family>() {
    let device = Device::open("sim").unwrap();
    for_each_member::<F, u32>(&device, |sum, context| {
        let counts = [1, 1 << 20, 1 << 32, 1 << 40, u64::MAX];
        let depths = counts.map(|n| sum.depth(n));
        assert!(depths.is_sorted() && depths[4] > depths[0], "{depths:?}, {context}");
        for n in counts {
            let reserved = sum.reserve(usize::try_from(n).unwrap_or(usize::MAX));
            let typed = matches!(reserved, Ok(()) | Err(Error::OutOfMemory { .. } | Error::TooLarge { .. }));
            assert!(typed, "{n} elements, {context}: {reserved:?}");
        }
        assert_eq!(sum_at(sum, &[1; 1000], 1).unwrap(), 1000, "after memory that could not be had, {context}");
    });
}

/// What the simulator that `selector` names counts while a sum adds up `n` ones, which is right.
///
/// # Panics
/// If the sum is wrong, or cannot be made.
pub fn counted<T: Element, S: Sum<T>>(
    selector: &str,
    n: u64,
    make: impl FnOnce(&Stream) -> Result<S>,
) -> crate::Counters {
    // A device of its own: it counts all that runs on it.
    let device = Device::open(selector).unwrap();
    let stream = device.stream().unwrap();
    let ones = stream.upload(&vec![T::from_f64(1.0); n as usize]).unwrap();
    let mut sum = make(&stream).unwrap();
    let result = sum.sum(ones.as_slice()).unwrap();
    assert_eq!(result.to_f64(), n as f64, "{} on {selector}", sum.name());
    device.take_counters().unwrap()
}
