//! Every variant, for every element type, against the host, on every device present.

use dot::{Dot, Variant, canonical};
use kernels_common::device::Device;
use kernels_common::element::{Accumulator, Element, bf16, f16};
use kernels_common::error::Error;
use kernels_common::for_every_element;
use kernels_common::graph::Graph;
use kernels_common::memory::{DeviceBuffer, HostValue, Slice};
use kernels_common::oracle;
use kernels_common::testing::schedules::on_every_schedule;
use kernels_common::testing::{
    Input, Offset, Values, devices, every_offset, golden, inputs, lengths, offsets, pairwise, upload_at,
};
use proptest::prelude::*;

/// Uploads x and y so that their first elements lie `offsets` elements into a buffer that ends with their last, and
/// returns the result.
fn dot_at<T: Element>(
    device: &Device,
    variant: Variant,
    x: &[T],
    y: &[T],
    offsets: (usize, usize),
) -> Result<T::Sum, Error> {
    let stream = device.stream()?;
    let (buffer_x, buffer_y) = (upload_at(&stream, x, offsets.0)?, upload_at(&stream, y, offsets.1)?);
    Dot::with_variant(&stream, variant)?.value(buffer_x.slice(offsets.0..)?, buffer_y.slice(offsets.1..)?)
}

/// Every place within a packet at which `x` can start, each with another place for `y`.
fn places<T: Element>() -> impl Iterator<Item = (usize, usize)> {
    let packet = every_offset::<T>().len();
    every_offset::<T>().map(move |x| (x, (2 * x + 1) % packet)).chain([(0, 0)])
}

fn check<T: Element>(n: usize, inputs: (Input, Input), offsets: (Offset, Offset)) -> Result<(), TestCaseError> {
    check_at::<T>(n, inputs, (offsets.0.elements::<T>(), offsets.1.elements::<T>()))
}

fn check_at<T: Element>(n: usize, inputs: (Input, Input), offsets: (usize, usize)) -> Result<(), TestCaseError> {
    let (x, y): (Vec<T>, Vec<T>) = (inputs.0.generate(n), inputs.1.generate(n));
    let exact = oracle::dot(&x, &y);
    let pairwise = pairwise::dot(&x, &y);
    let expected = canonical(&x, &y).unwrap();
    for device in devices() {
        for variant in Variant::ALL {
            let result = dot_at(device, variant, &x, &y, offsets).unwrap();
            let context = format!("{} {variant} on {device:?}: {result:?}", T::NAME);
            if variant == Variant::Canonical {
                prop_assert_eq!(result.bits(), expected.bits(), "{}, on the host {:?}", context, expected);
            }
            let bound = exact.bound(variant.depth::<T>(n as u64), 2 * n as u64);
            prop_assert!(exact.error_of(result) <= bound || exact.may_overflow(), "{}, exact {:?}", context, exact);
            // Beside the order of a library for processors: each is within its bound of the exact result.
            if T::IS_FLOAT && !exact.may_overflow() && exact.parts.0.is_finite() {
                let apart = (result.to_f64() - pairwise.value.to_f64()).abs();
                prop_assert!(apart <= bound + pairwise.bound(&exact), "{}, pairwise {:?}", context, pairwise);
            } else if !T::IS_FLOAT {
                prop_assert_eq!(result.bits(), pairwise.value.bits(), "{}", context);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_variant_and_type_agrees_with_the_host(
        n in lengths(),
        inputs in (inputs(), inputs()),
        offsets in (offsets(), offsets()),
    ) {
        for_every_element!(check(n, inputs, offsets));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn a_graph_gives_what_calls_give(
        n in lengths(),
        inputs in proptest::collection::vec((inputs(), inputs()), 1..4),
        offsets in (offsets(), offsets()),
    ) {
        for_every_element!(check_graph(n, &inputs, offsets));
    }
}

/// What a graph of dot products works on.
struct Captured<T: Element> {
    dot: Dot<T>,
    x: DeviceBuffer<T>,
    y: DeviceBuffer<T>,
    offsets: (usize, usize),
    out: DeviceBuffer<T::Sum>,
    value: HostValue<T::Sum>,
}

impl<T: Element> Captured<T> {
    /// x·y to the device and to the host, x·x between them.
    fn record(&mut self) -> Result<(), Error> {
        let Captured { dot, x, y, offsets, out, value } = self;
        let (x, y) = (x.slice(offsets.0..)?, y.slice(offsets.1..)?);
        dot.enqueue(x, y, out.slice_mut(..1)?)?;
        dot.enqueue(x, x, out.slice_mut(1..)?)?;
        dot.enqueue(x, y, value.slot()?)
    }
}

fn check_graph<T: Element>(
    n: usize,
    inputs: &[(Input, Input)],
    offsets: (Offset, Offset),
) -> Result<(), TestCaseError> {
    let offsets = (offsets.0.elements::<T>(), offsets.1.elements::<T>());
    for device in devices() {
        let stream = device.stream().unwrap();
        for variant in Variant::ALL {
            let mut dot = Dot::<T>::with_variant(&stream, variant).unwrap();
            dot.reserve(n).unwrap();
            let captured = Captured {
                dot,
                x: stream.alloc_uninit(offsets.0 + n).unwrap(),
                y: stream.alloc_uninit(offsets.1 + n).unwrap(),
                offsets,
                out: stream.alloc_uninit(2).unwrap(),
                value: HostValue::new(&stream),
            };
            let mut graph = Graph::capture(&stream, captured, Captured::record).unwrap();
            for (index, input) in inputs.iter().enumerate() {
                let (x, y): (Vec<T>, Vec<T>) = (input.0.generate(n), input.1.generate(n));
                if index % 2 == 1 {
                    // Other memory.
                    graph.resources_mut().x = stream.alloc_uninit(offsets.0 + n).unwrap();
                    graph.update(Captured::record).unwrap();
                }
                let captured = graph.resources_mut();
                captured.x.slice_mut(offsets.0..).unwrap().copy_from(&x).unwrap();
                captured.y.slice_mut(offsets.1..).unwrap().copy_from(&y).unwrap();
                let mut called = |x: Slice<'_, T>, y: Slice<'_, T>| captured.dot.value(x, y).unwrap().bits();
                let (dx, dy) = (captured.x.slice(offsets.0..).unwrap(), captured.y.slice(offsets.1..).unwrap());
                let expected = match variant {
                    Variant::Canonical => [canonical(&x, &y).unwrap().bits(), canonical(&x, &x).unwrap().bits()],
                    Variant::ThreeStage => [called(dx, dy), called(dx, dx)],
                };
                for _ in 0..2 {
                    graph.launch().unwrap();
                    let captured = graph.resources_mut();
                    let out = captured.out.download().unwrap();
                    let found = [out[0], out[1], captured.value.wait().unwrap()].map(Accumulator::bits);
                    let expected = [expected[0], expected[1], expected[0]];
                    prop_assert_eq!(found, expected, "{} elements of {}, {} on {:?}", n, T::NAME, variant, device);
                }
            }
        }
    }
    Ok(())
}

/// A call that needs more scratch memory than there is says so; so does one that waits.
#[test]
fn what_a_capture_refuses() {
    for device in devices() {
        let stream = device.stream().unwrap();
        for variant in Variant::ALL {
            let n = (1 << 20) + 1;
            let captured = || {
                let out = stream.alloc_zeros::<f64>(1).unwrap();
                (Dot::<f64>::with_variant(&stream, variant).unwrap(), stream.alloc_zeros::<f64>(n).unwrap(), out)
            };
            let graph = Graph::capture(&stream, captured(), |(dot, x, out)| dot.enqueue(&*x, &*x, out));
            match graph {
                Err(error @ Error::Capturing { .. }) => assert!(error.to_string().contains("`reserve`"), "{error}"),
                // The scratch memory that there is at first was enough.
                other => assert!(variant == Variant::Canonical && other.is_ok(), "{variant}: {other:?}"),
            }
            let graph = Graph::capture(&stream, captured(), |(dot, x, _)| dot.value(&*x, &*x).map(|_| ()));
            assert!(matches!(graph, Err(Error::Capturing { .. })), "{variant}: {graph:?}");
        }
    }
}

/// The boundaries of packets, warps, blocks and virtual blocks, and one length past several virtual blocks.
#[test]
fn boundaries() {
    let uniform = |seed| Input { values: Values::Uniform, seed };
    let run = || -> Result<(), TestCaseError> {
        for n in
            [0, 1, 2, 3, 4, 5, 31, 32, 33, 255, 256, 257, 511, 512, 513, 2047, 2048, 2049, 4095, 4096, 4097, 65_537]
        {
            for_every_element!(check_at(n, (uniform(1), uniform(2)), (0, 0)));
        }
        Ok(())
    };
    run().unwrap();
}

/// The bits that the canonical order is frozen with, from packets that are loaded whole and lane by lane.
#[test]
fn golden_bits() {
    fn check<T: Element>(device: &Device) -> Result<(), Error> {
        for record in golden::records::<T>(device) {
            let Some(expected) = record.result("dot") else { continue };
            let (x, y) = (record.kind.input::<T>(record.n), golden::second::<T>(record.n));
            for offsets in [(0, 0), (0, 1)] {
                let found = dot_at(device, Variant::Canonical, &x, &y, offsets)?.bits();
                assert_eq!(found, expected, "{record:?} of {}, offsets {offsets:?}, on {device:?}: {found:x}", T::NAME);
            }
        }
        Ok(())
    }
    for device in devices() {
        let run = || -> Result<(), Error> {
            for_every_element!(check(device));
            Ok(())
        };
        run().unwrap();
    }
}

/// Enough virtual blocks that every level of their tree has work, an odd last one among them.
#[test]
fn many_virtual_blocks() {
    let n = (1 << 20) + 3;
    let x: Vec<f32> = Input { values: Values::Uniform, seed: 3 }.generate(n);
    let y: Vec<f32> = Input { values: Values::Uniform, seed: 4 }.generate(n);
    let expected = canonical(&x, &y).unwrap();
    for device in devices() {
        let aligned = dot_at(device, Variant::Canonical, &x, &y, (0, 0)).unwrap();
        assert_eq!(aligned.to_bits(), expected.to_bits(), "{device:?}");
        let shifted = dot_at(device, Variant::Canonical, &x, &y, (1, 3)).unwrap();
        assert_eq!(shifted.to_bits(), expected.to_bits(), "{device:?}");
    }
}

#[test]
fn one_object_serves_many_lengths_and_leaves_the_rest_of_the_output_alone() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let ones = stream.upload(&vec![1.0f64; 70_000]).unwrap();
        for variant in Variant::ALL {
            let mut dot = Dot::<f64>::with_variant(&stream, variant).unwrap();
            let mut out = stream.upload(&[-7.0f64; 9]).unwrap();
            for (index, n) in [70_000, 1, 0, 4097, 2048, 69_999].into_iter().enumerate() {
                let x = ones.slice(..n).unwrap();
                dot.enqueue(x, x, out.slice_mut(index + 1..index + 2).unwrap()).unwrap();
            }
            assert_eq!(out.download().unwrap(), [-7.0, 70_000.0, 1.0, 0.0, 4097.0, 2048.0, 69_999.0, -7.0, -7.0]);
        }
    }
}

/// Runs `check` for every device and variant, with every place within a packet that the slices of `T` can start at.
fn everywhere<T: Element>(check: impl Fn(&Device, Variant, (usize, usize))) {
    for device in devices() {
        for variant in Variant::ALL {
            for offsets in places::<T>() {
                check(device, variant, offsets);
            }
        }
    }
}

/// One element, and nothing after it that could be read: the simulator checks every address.
#[test]
fn one_element_is_all_that_is_read() {
    fn of_type<T: Element>() -> Result<(), Error> {
        let value = T::from_f64(3.0);
        everywhere::<T>(|device, variant, offsets| {
            let result = dot_at(device, variant, &[value], &[value], offsets).unwrap();
            assert_eq!(result.to_f64(), 9.0, "{} {variant} on {device:?}, {offsets:?}", T::NAME);
        });
        Ok(())
    }
    let run = || -> Result<(), Error> {
        for_every_element!(of_type());
        Ok(())
    };
    run().unwrap();
}

/// A tail that is lost or counted twice changes the number.
#[test]
fn ones_count_exactly() {
    fn of_type<T: Element>() -> Result<(), Error> {
        let one = T::from_f64(1.0);
        everywhere::<T>(|device, variant, offsets| {
            for n in [2, 33, 1000, 4097] {
                let ones = vec![one; n];
                let result = dot_at(device, variant, &ones, &ones, offsets).unwrap();
                assert_eq!(result.to_f64(), n as f64, "{n} {} {variant} on {device:?}, {offsets:?}", T::NAME);
            }
        });
        Ok(())
    }
    let run = || -> Result<(), Error> {
        for_every_element!(of_type());
        Ok(())
    };
    run().unwrap();
}

#[test]
fn halves_do_not_saturate() {
    // An f16 stops at 2048 and a bf16 at 256, where adding one no longer changes it.
    let (halves, brains) = (vec![f16::ONE; 4096], vec![bf16::ONE; 70_000]);
    everywhere::<f16>(|device, variant, offsets| {
        assert_eq!(dot_at(device, variant, &halves, &halves, offsets).unwrap(), 4096.0, "{variant} on {device:?}");
    });
    for device in devices() {
        for variant in Variant::ALL {
            for offsets in [(0, 0), (1, 0), (3, 6)] {
                let result = dot_at(device, variant, &brains, &brains, offsets).unwrap();
                assert_eq!(result, 70_000.0, "{variant} on {device:?}");
            }
        }
    }
    assert_eq!(canonical(&halves, &halves).unwrap(), 4096.0);
    assert_eq!(canonical(&brains, &brains).unwrap(), 70_000.0);
}

#[test]
fn narrow_integers_do_not_wrap() {
    // Every product has left 32 bits; more than two of them wrap around in 64.
    let (largest, least) = (i64::from(i32::MAX), i64::from(i32::MIN));
    for n in [1, 2, 5000] {
        let (large, ones) = (vec![i32::MAX; n], vec![1i32; n]);
        let (small, unsigned) = (vec![i32::MIN; n], vec![u32::MAX; n]);
        let count = n as i64;
        everywhere::<i32>(|device, variant, offsets| {
            let dot = |x: &[i32], y: &[i32]| dot_at(device, variant, x, y, offsets).unwrap();
            assert_eq!(dot(&large, &ones), count * largest, "{variant} on {device:?}");
            assert_eq!(dot(&small, &ones), count * least, "{variant} on {device:?}");
            assert_eq!(dot(&large, &large), count.wrapping_mul(largest * largest), "{variant} on {device:?}");
            assert_eq!(dot(&large, &small), count.wrapping_mul(largest * least), "{variant} on {device:?}");
            let square = u64::from(u32::MAX) * u64::from(u32::MAX);
            let result = dot_at(device, variant, &unsigned, &unsigned, offsets).unwrap();
            assert_eq!(result, (n as u64).wrapping_mul(square), "{variant} on {device:?}");
        });
    }
}

/// Whatever is NaN, and wherever it stands: the result is the constant `NAN` of its type.
#[test]
fn nan_is_never_lost() {
    const LEN: usize = 5000;
    fn of_type<T: Element>(nan: T) {
        assert!(nan.to_f64().is_nan());
        let ones = vec![T::from_f64(1.0); LEN];
        let positions = [vec![0], vec![1], vec![LEN / 2], vec![LEN - 1], (0..LEN).collect()];
        let expected = <T::Sum as Element>::from_f64(f64::NAN).normalised().bits();
        for positions in positions {
            let mut x = ones.clone();
            for &position in &positions {
                x[position] = nan;
            }
            assert_eq!(canonical(&x, &ones).unwrap().bits(), expected);
            everywhere::<T>(|device, variant, offsets| {
                let context = format!("{} {variant} on {device:?}, NaN at {:?}…", T::NAME, &positions[..1]);
                assert_eq!(dot_at(device, variant, &x, &ones, offsets).unwrap().bits(), expected, "x of {context}");
                assert_eq!(dot_at(device, variant, &ones, &x, offsets).unwrap().bits(), expected, "y of {context}");
            });
        }
    }
    // With a sign and a payload, so that no NaN of the input can pass for the constant.
    of_type(f32::from_bits(0xffc0_1234));
    of_type(f64::from_bits(0xfff8_0000_dead_beef));
    of_type(f16::from_bits(0xfe12));
    of_type(bf16::from_bits(0xffc1));
    assert_eq!(f32::from_f64(f64::NAN).normalised().to_bits(), f32::NAN.to_bits());
}

/// The sum of zeros of whichever sign is +0.
#[test]
fn negative_zeros_add_up_to_plus_zero() {
    fn of_type<T: Element>() {
        // A tail, a whole block of the first stage, and many virtual blocks without a tail.
        for n in [1, 3, 256, 65_536] {
            let (zeros, ones) = (vec![T::from_f64(-0.0); n], vec![T::from_f64(1.0); n]);
            for device in devices() {
                for variant in Variant::ALL {
                    for (x, y) in [(&zeros, &ones), (&ones, &zeros)] {
                        for offsets in [(0, 0), (1, 0)] {
                            let result = dot_at(device, variant, x, y, offsets).unwrap();
                            assert_eq!(result.bits(), 0, "{n} {} {variant} on {device:?}", T::NAME);
                        }
                    }
                }
            }
        }
    }
    of_type::<f32>();
    of_type::<f64>();
    of_type::<f16>();
    of_type::<bf16>();
}

#[test]
fn nothing_is_launched_for_nothing() {
    fn of_type<T: Element>(device: &Device) -> Result<(), Error> {
        let stream = device.stream()?;
        let empty = stream.alloc_zeros::<T>(0)?;
        let some = stream.alloc_zeros::<T>(4)?;
        for variant in Variant::ALL {
            let mut dot = Dot::<T>::with_variant(&stream, variant)?;
            dot.reserve(0)?;
            assert_eq!(dot.value(&empty, &empty)?.bits(), 0);
            // A stale result does not stay.
            let mut out = stream.upload(&[<T::Sum as Element>::from_f64(7.0)])?;
            dot.enqueue(some.slice(4..)?, some.slice(2..2)?, &mut out)?;
            assert_eq!(out.download()?[0].bits(), 0);
        }
        Ok(())
    }
    // Devices of its own: the others' counters are shared with tests that run at the same time.
    for device in devices().iter().map(|device| Device::open(&device.properties().selector).unwrap()) {
        let run = || -> Result<(), Error> {
            for_every_element!(of_type(&device));
            Ok(())
        };
        run().unwrap();
        // A GPU does not count; there a launch without blocks would have been an error.
        assert!(device.take_counters().is_none_or(|counters| counters == Default::default()));
    }
}

/// Pinned and unified memory are as good as that of the device.
#[test]
fn every_kind_of_memory_will_do() {
    use kernels_common::memory::{Attach, PinnedBuffer, PinnedKind, UnifiedBuffer};
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut pinned = PinnedBuffer::<f32>::zeros(&stream, 1001, PinnedKind::Cached).unwrap();
        let mut unified = UnifiedBuffer::<f32>::zeros(&stream, 1001, Attach::Global).unwrap();
        pinned.host_mut().unwrap().fill(2.0);
        unified.host_mut().unwrap().fill(3.0);
        for variant in Variant::ALL {
            let mut dot = Dot::<f32>::with_variant(&stream, variant).unwrap();
            let mut out = PinnedBuffer::<f32>::zeros(&stream, 1, PinnedKind::Cached).unwrap();
            dot.enqueue(
                pinned.as_slice().slice(1..).unwrap(),
                unified.as_slice().slice(1..).unwrap(),
                out.as_slice_mut(),
            )
            .unwrap();
            assert_eq!(out.host().unwrap(), [6000.0], "{variant} on {device:?}");
        }
    }
}

/// No schedule of the simulator leads to a fault, or to other bits.
#[test]
fn every_schedule_is_clean() {
    fn check<T: Element>(device: &Device) -> Result<(), Error> {
        let n = 9001;
        let uniform = |seed| Input { values: Values::Uniform, seed };
        let (x, y): (Vec<T>, Vec<T>) = (uniform(7).generate(n), uniform(8).generate(n));
        let expected = canonical(&x, &y)?;
        let in_order = Device::open("sim")?;
        for variant in Variant::ALL {
            let result = dot_at(device, variant, &x, &y, (1, 2))?;
            let expected = match variant {
                Variant::Canonical => expected,
                Variant::ThreeStage => dot_at(&in_order, variant, &x, &y, (0, 0))?,
            };
            assert_eq!(result.bits(), expected.bits(), "{} {variant}: {result:?}, not {expected:?}", T::NAME);
        }
        Ok(())
    }
    on_every_schedule("sms=4", |device| {
        for_every_element!(check(device));
        Ok(())
    });
}

/// A fault ends a launch when some of its blocks are done and others are not. A GPU runs nothing after one, so this is
/// for the simulator.
#[test]
fn a_fault_leaves_the_object_usable() {
    for selector in ["sim:sms=4", "sim:sms=4,seed=1", "sim:sms=4,seed=2"] {
        let stream = Device::open(selector).unwrap().stream().unwrap();
        let n = 150_000;
        let ones = stream.upload(&vec![1.0f32; n]).unwrap();
        let mut unfinished = stream.alloc_uninit::<f32>(n).unwrap();
        unfinished.slice_mut(..n - 1).unwrap().fill_zero().unwrap();
        for variant in Variant::ALL {
            let mut dot = Dot::<f32>::with_variant(&stream, variant).unwrap();
            assert!(matches!(dot.value(&ones, &unfinished), Err(Error::Fault(_))), "{variant} on {selector}");
            assert_eq!(dot.value(&ones, &ones).unwrap(), n as f32, "{variant} on {selector}");
        }
    }
}

#[test]
fn wrong_input_is_a_typed_error() {
    for device in devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let x = stream.upload(&[1.0f32; 4]).unwrap();
        let elsewhere = other.upload(&[1.0f32; 4]).unwrap();
        let mut out = stream.alloc_zeros::<f32>(2).unwrap();
        for variant in Variant::ALL {
            let mut dot = Dot::<f32>::with_variant(&stream, variant).unwrap();
            let shorter = x.slice(1..).unwrap();
            assert!(matches!(dot.value(&x, shorter), Err(Error::LengthMismatch { what: "y", expected: 4, found: 3 })));
            assert!(matches!(dot.value(&x, &elsewhere), Err(Error::StreamMismatch { what: "y" })));
            let both = dot.enqueue(&x, &x, &mut out);
            assert!(matches!(both, Err(Error::LengthMismatch { what: "the output", expected: 1, found: 2 })));
            assert_eq!(dot.value(&x, &x).unwrap(), 4.0, "an error leaves the object usable");
        }
    }
    assert!(matches!(canonical(&[1i32], &[]), Err(Error::LengthMismatch { .. })));
}
