//! Every operation, for every element type, against the host, on every device present.

use kernels_common::device::Device;
use kernels_common::element::{Accumulator, Element, bf16, f16};
use kernels_common::error::{Error, Result};
use kernels_common::for_every_element;
use kernels_common::graph::Graph;
use kernels_common::memory::DeviceBuffer;
use kernels_common::stream::Stream;
use kernels_common::sum::Sum;
use kernels_common::testing::golden::{self, bits};
use kernels_common::testing::{Input, Values, devices, inputs, lengths, sums};
use proptest::prelude::*;
use single_pass::{Maximum, Minimum, Operation, Plus, Product, Reduce, SinglePass};

struct Single;

impl sums::Family for Single {
    type Member = ();

    fn members() -> Vec<Self::Member> {
        vec![()]
    }

    fn make<T: Element>((): Self::Member, stream: &Stream) -> Result<Box<dyn Sum<T>>> {
        Ok(Box::new(SinglePass::<T>::new(stream)?))
    }
}

kernels_common::sum_tests!(Single, cases: 10);

/// Reduces `values`, which lie `offset` elements into a buffer.
fn reduce_at<T: Element, Op: Operation<T>>(device: &Device, values: &[T], offset: usize) -> Result<Op::Output> {
    let stream = device.stream()?;
    let mut padded = vec![T::from_f64(3.0); offset];
    padded.extend_from_slice(values);
    Reduce::<T, Op>::new(&stream)?.value(stream.upload(&padded)?.slice(offset..)?)
}

/// The result on every device, after its bits were compared with the host's.
fn check_bits<T: Element, Op: Operation<T>>(values: &[T], offset: usize) -> Result<Op::Output, TestCaseError> {
    let expected = Op::canonical(values);
    for device in devices() {
        let result = reduce_at::<T, Op>(device, values, offset).unwrap();
        let n = values.len();
        let context = format!("{} of {n} {}, offset {offset}, {device:?}", Op::NAME, T::NAME);
        prop_assert_eq!(bits(result), bits(expected), "{}: {:?}, on the host {:?}", context, result, expected);
    }
    Ok(expected)
}

/// The least and the greatest by a plain fold over a total order in which −0 lies below +0; NaN if there is one.
fn extremes<T: Element>(values: &[T]) -> (T, T) {
    if let Some(&nan) = values.iter().find(|x| x.partial_cmp(x).is_none()) {
        let nan = T::narrow(nan.widen().normalised());
        return (nan, nan);
    }
    let sign = |x: T| if T::IS_FLOAT { x.to_f64().is_sign_positive() } else { true };
    let below = |a: T, b: T| a < b || (a == b && !sign(a) && sign(b));
    values.iter().fold((T::HIGHEST, T::LOWEST), |(least, greatest), &x| {
        (if below(x, least) { x } else { least }, if below(greatest, x) { x } else { greatest })
    })
}

fn check<T: Element>(n: usize, input: Input, offset: usize) -> Result<(), TestCaseError> {
    let values: Vec<T> = input.generate(n);
    check_bits::<T, Plus>(&values, offset)?;
    let product = check_bits::<T, Product>(&values, offset)?;
    let minimum = check_bits::<T, Minimum>(&values, offset)?;
    let maximum = check_bits::<T, Maximum>(&values, offset)?;
    let (least, greatest) = extremes(&values);
    prop_assert_eq!(bits(minimum), bits(least), "{} is no minimum of {}", minimum, T::NAME);
    prop_assert_eq!(bits(maximum), bits(greatest), "{} is no maximum of {}", maximum, T::NAME);
    if !T::IS_FLOAT {
        let folded = values.iter().fold(T::Sum::ONE, |product, x| product.multiply(x.widen()));
        prop_assert_eq!(product, folded);
    }
    Ok(())
}

/// What a graph of every operation works on.
struct Captured<T: Element> {
    sum: Reduce<T, Plus>,
    product: Reduce<T, Product>,
    minimum: Reduce<T, Minimum>,
    maximum: Reduce<T, Maximum>,
    source: DeviceBuffer<T>,
    x: DeviceBuffer<T>,
    offset: usize,
    wide: DeviceBuffer<T::Sum>,
    narrow: DeviceBuffer<T>,
}

impl<T: Element> Captured<T> {
    /// Launches that may overlap with one another, and some after a fill and after a copy.
    fn record(&mut self) -> Result<(), Error> {
        self.wide.as_slice_mut().fill_zero()?;
        self.x.as_slice_mut().copy_from_slice(self.source.as_slice())?;
        let x = self.x.slice(self.offset..)?;
        self.sum.enqueue(x, self.wide.slice_mut(..1)?)?;
        self.product.enqueue(x, self.wide.slice_mut(1..)?)?;
        self.minimum.enqueue(x, self.narrow.slice_mut(..1)?)?;
        self.narrow.slice_mut(1..)?.fill_zero()?;
        self.maximum.enqueue(x, self.narrow.slice_mut(1..)?)
    }
}

fn check_graph<T: Element>(n: usize, inputs: &[Input], offset: usize) -> Result<(), TestCaseError> {
    for device in devices() {
        let stream = device.stream().unwrap();
        let captured = Captured {
            sum: Reduce::new(&stream).unwrap(),
            product: Reduce::new(&stream).unwrap(),
            minimum: Reduce::new(&stream).unwrap(),
            maximum: Reduce::new(&stream).unwrap(),
            source: stream.alloc_zeros(offset + n).unwrap(),
            x: stream.alloc_uninit(offset + n).unwrap(),
            offset,
            wide: stream.alloc_uninit(2).unwrap(),
            narrow: stream.alloc_uninit(2).unwrap(),
        };
        let mut graph = Graph::capture(&stream, captured, Captured::record).unwrap();
        for input in inputs {
            let values: Vec<T> = input.generate(n);
            graph.resources_mut().source.slice_mut(offset..).unwrap().copy_from(&values).unwrap();
            graph.launch().unwrap();
            let Captured { wide, narrow, .. } = graph.resources();
            let found = (wide.download().unwrap(), narrow.download().unwrap());
            let context = format!("{n} elements of {} on {device:?}", T::NAME);
            prop_assert_eq!(bits(found.0[0]), bits(Plus::canonical(&values)), "sum, {}", context);
            prop_assert_eq!(bits(found.0[1]), bits(Product::canonical(&values)), "product, {}", context);
            prop_assert_eq!(bits(found.1[0]), bits(Minimum::canonical(&values)), "minimum, {}", context);
            prop_assert_eq!(bits(found.1[1]), bits(Maximum::canonical(&values)), "maximum, {}", context);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, ..ProptestConfig::default() })]

    #[test]
    fn every_operation_and_type_agrees_with_the_host(n in lengths(), input in inputs(), offset in 0usize..9) {
        for_every_element!(check(n, input, offset));
    }

    #[test]
    fn a_graph_of_every_operation_gives_the_bits_of_the_host(
        n in lengths(),
        inputs in proptest::collection::vec(inputs(), 1..4),
        offset in 0usize..9,
    ) {
        for_every_element!(check_graph(n, &inputs, offset));
    }

    /// Factors near 1, whose product neither overflows nor vanishes.
    #[test]
    fn products_near_1_are_within_their_bound(n in 1usize..20_000, seed in any::<u64>(), offset in 0usize..5) {
        let noise: Vec<f64> = Input { values: Values::Uniform, seed }.generate(n);
        let factors: Vec<f32> = noise.iter().map(|&x| (1.0 + x / 256.0) as f32).collect();
        let product = f64::from(check_bits::<f32, Product>(&factors, offset)?);
        let exact: f64 = factors.iter().map(|&x| f64::from(x)).product();
        // Each of n - 1 multiplications rounds once; those by the identity are exact. The f64 product errs too.
        let bound = n as f64 * f32::UNIT_ROUNDOFF;
        prop_assert!((product / exact - 1.0).abs() <= bound / (1.0 - bound) + 1e-11, "{} for {}", product, exact);
    }
}

/// The boundaries of packets, warps, blocks and virtual blocks.
#[test]
fn boundaries() {
    let run = || -> Result<(), TestCaseError> {
        for n in [0, 1, 2, 3, 7, 8, 9, 31, 33, 511, 513, 2047, 2048, 2049, 4095, 4097, 65_537] {
            for_every_element!(check(n, Input { values: Values::Uniform, seed: n as u64 }, 0));
        }
        Ok(())
    };
    run().unwrap();
}

/// The bits that the canonical order is frozen with, from packets that are loaded whole and lane by lane.
#[test]
fn golden_bits() {
    fn operation<T: Element, Op: Operation<T>>(device: &Device, record: &golden::Record, values: &[T]) -> Result<()> {
        let Some(expected) = record.result(Op::NAME) else { return Ok(()) };
        for offset in [0, 1] {
            let found = bits(reduce_at::<T, Op>(device, values, offset)?);
            let context = format!("{} of {record:?} of {}, offset {offset}, on {device:?}", Op::NAME, T::NAME);
            assert_eq!(found, expected, "{context}: {found:x}");
        }
        Ok(())
    }
    fn check<T: Element>(device: &Device) -> Result<()> {
        for record in golden::records::<T>(device) {
            let values: Vec<T> = record.kind.input(record.n);
            operation::<T, Plus>(device, &record, &values)?;
            operation::<T, Product>(device, &record, &values)?;
            operation::<T, Minimum>(device, &record, &values)?;
            operation::<T, Maximum>(device, &record, &values)?;
        }
        Ok(())
    }
    for device in devices() {
        let run = || -> Result<()> {
            for_every_element!(check(device));
            Ok(())
        };
        run().unwrap();
    }
}

/// Enough virtual blocks that every level of their tree has work, an odd last one among them.
#[test]
fn many_virtual_blocks() {
    let values: Vec<f32> = Input { values: Values::Uniform, seed: 3 }.generate((1 << 20) + 3);
    for offset in [0, 1] {
        check_bits::<f32, Plus>(&values, offset).unwrap();
    }
    check_bits::<f32, Minimum>(&values, 0).unwrap();
    let factors: Vec<f64> = values.iter().map(|&x| 1.0 + f64::from(x) / 1e5).collect();
    check_bits::<f64, Product>(&factors, 0).unwrap();
}

#[test]
fn nothing_gives_the_identity() {
    fn check<T: Element>() -> Result<(), TestCaseError> {
        prop_assert_eq!(bits(check_bits::<T, Plus>(&[], 1)?), 0);
        prop_assert_eq!(check_bits::<T, Product>(&[], 1)?, T::Sum::ONE);
        prop_assert_eq!(check_bits::<T, Minimum>(&[], 1)?, T::HIGHEST);
        prop_assert_eq!(check_bits::<T, Maximum>(&[], 1)?, T::LOWEST);
        Ok(())
    }
    let run = || -> Result<(), TestCaseError> {
        for_every_element!(check());
        Ok(())
    };
    run().unwrap();
}

/// Infinities, zeros of both signs and NaN wherever they are.
#[test]
fn special_values_of_every_operation() {
    fn check<T: Element>(nan: T) -> Result<(), TestCaseError> {
        let of = |value: f64| T::from_f64(value);
        let (infinity, n) = (of(f64::INFINITY), 5000);
        prop_assert_eq!(check_bits::<T, Minimum>(&[infinity; 10], 1)?, infinity);
        prop_assert_eq!(check_bits::<T, Maximum>(&[of(f64::NEG_INFINITY); 10], 0)?, of(f64::NEG_INFINITY));
        prop_assert_eq!(check_bits::<T, Product>(&[infinity, of(-2.0)], 1)?.to_f64(), f64::NEG_INFINITY);
        prop_assert!(check_bits::<T, Product>(&[infinity, of(0.0)], 1)?.to_f64().is_nan());
        for position in [0, 1, n / 2, n - 1] {
            let mut values = vec![of(1.0); n];
            values[position] = of(-0.0);
            prop_assert!(check_bits::<T, Product>(&values, 0)?.to_f64().is_sign_negative());
            values = vec![of(0.0); n];
            values[position] = of(-0.0);
            prop_assert_eq!(bits(check_bits::<T, Minimum>(&values, 0)?), bits(of(-0.0)));
            values = vec![of(-0.0); n];
            values[position] = of(0.0);
            prop_assert_eq!(bits(check_bits::<T, Maximum>(&values, 0)?), bits(of(0.0)));
            values = vec![of(-1.0); n];
            values[position] = nan;
            let constant = bits(of(f64::NAN));
            prop_assert_eq!(bits(check_bits::<T, Minimum>(&values, 1)?), constant);
            prop_assert_eq!(bits(check_bits::<T, Maximum>(&values, 1)?), constant);
            let constant = bits(T::Sum::from_f64(f64::NAN));
            prop_assert_eq!(bits(check_bits::<T, Plus>(&values, 1)?), constant);
            prop_assert_eq!(bits(check_bits::<T, Product>(&values, 1)?), constant);
        }
        Ok(())
    }
    // NaN with a sign and a payload: it has to become the one constant.
    check::<f32>(f32::from_bits(0xffc0_1234)).unwrap();
    check::<f64>(f64::from_bits(0xfff8_dead_beef_0001)).unwrap();
    check::<f16>(f16::from_bits(0xfe12)).unwrap();
    check::<bf16>(bf16::from_bits(0xffc3)).unwrap();
    assert_eq!(f16::from_f64(f64::NAN).to_bits(), f16::NAN.to_bits());
    assert_eq!(bf16::from_f64(f64::NAN).to_bits(), bf16::NAN.to_bits());
}

#[test]
fn wrong_input_to_other_operations_is_a_typed_error() {
    for device in devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let x = stream.upload(&[4.0f32; 4]).unwrap();
        let elsewhere = other.upload(&[1.0f32; 4]).unwrap();
        let mut out = stream.alloc_zeros::<f32>(2).unwrap();
        let mut minimum = Reduce::<f32, Minimum>::new(&stream).unwrap();
        assert!(matches!(minimum.value(&elsewhere), Err(Error::StreamMismatch { what: "the input" })));
        let two = minimum.enqueue(&x, &mut out);
        assert!(matches!(two, Err(Error::LengthMismatch { what: "the output", expected: 1, found: 2 })));
        let mut far = other.alloc_zeros::<f32>(1).unwrap();
        assert!(matches!(minimum.enqueue(&x, &mut far), Err(Error::StreamMismatch { what: "the output" })));
        minimum.enqueue(&x, out.slice_mut(1..).unwrap()).unwrap();
        assert_eq!(out.download().unwrap(), [0.0, 4.0], "an error leaves the object usable, and the rest alone");
    }
}

/// More elements than 32 bits count are planned, without allocating them.
#[test]
fn plans_past_32_bits() {
    let stream = Device::open("sim:sms=4").unwrap().stream().unwrap();
    let sum = SinglePass::<f32>::new(&stream).unwrap();
    assert_eq!((sum.plan(0).blocks(), sum.plan(1).blocks(), sum.plan(32_769).blocks()), (1, 1, 5));
    for n in [1u64 << 32, (1 << 32) + 5, u64::MAX] {
        assert_eq!((sum.plan(n).blocks(), sum.plan(n).threads_per_block()), (8, 512));
    }
}
