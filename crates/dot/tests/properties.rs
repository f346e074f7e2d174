//! Every variant, for every element type, against the host, on every device present.

use dot::{Dot, Variant, canonical};
use kernels_common::device::Device;
use kernels_common::element::{Accumulator, Element};
use kernels_common::error::Error;
use kernels_common::for_every_element;
use kernels_common::oracle;
use kernels_common::testing::{Input, Values, devices, inputs, lengths};
use proptest::prelude::*;

/// Uploads x and y so that their first elements lie `offsets` elements into a buffer, and returns the result.
fn dot_at<T: Element>(
    device: &Device,
    variant: Variant,
    x: &[T],
    y: &[T],
    offsets: (usize, usize),
) -> Result<T::Sum, Error> {
    let stream = device.stream()?;
    let shifted = |values: &[T], offset: usize| {
        let mut padded = vec![T::from_f64(3.0); offset];
        padded.extend_from_slice(values);
        stream.upload(&padded)
    };
    let (buffer_x, buffer_y) = (shifted(x, offsets.0)?, shifted(y, offsets.1)?);
    Dot::with_variant(&stream, variant)?.value(buffer_x.slice(offsets.0..)?, buffer_y.slice(offsets.1..)?)
}

fn check<T: Element>(n: usize, inputs: (Input, Input), offsets: (usize, usize)) -> Result<(), TestCaseError> {
    let (x, y): (Vec<T>, Vec<T>) = (inputs.0.generate(n), inputs.1.generate(n));
    let exact = oracle::dot(&x, &y);
    let expected = canonical(&x, &y).unwrap();
    for device in devices() {
        for variant in Variant::ALL {
            let result = dot_at(device, variant, &x, &y, offsets).unwrap();
            let context = format!("{} {variant} on {device:?}: {result:?}", T::NAME);
            if variant == Variant::Canonical {
                prop_assert_eq!(result.bits(), expected.bits(), "{}, on the host {:?}", context, expected);
            }
            let bound = exact.bound(variant.depth::<T>(n as u64), 2 * n as u64);
            // Large terms may overflow on the way although the exact sum does not.
            let largest = if size_of::<T::Sum>() == 4 { f32::MAX.into() } else { f64::MAX };
            let may_overflow = T::IS_FLOAT && exact.magnitude * 2.0 >= largest;
            prop_assert!(exact.error_of(result) <= bound || may_overflow, "{}, exact {:?}", context, exact);
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
        offsets in (0usize..9, 0usize..9),
    ) {
        for_every_element!(check(n, inputs, offsets));
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
            for_every_element!(check(n, (uniform(1), uniform(2)), (0, 0)));
        }
        Ok(())
    };
    run().unwrap();
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

#[test]
fn halves_and_narrow_integers_do_not_saturate() {
    use kernels_common::testing::{bf16, f16};
    for device in devices() {
        for variant in Variant::ALL {
            let halves = vec![f16::ONE; 4096];
            assert_eq!(dot_at(device, variant, &halves, &halves, (0, 0)).unwrap(), 4096.0);
            let brains = vec![bf16::ONE; 70_000];
            assert_eq!(dot_at(device, variant, &brains, &brains, (0, 0)).unwrap(), 70_000.0);
            let large = vec![i32::MAX; 5000];
            let expected = 5000i64.wrapping_mul(i64::from(i32::MAX) * i64::from(i32::MAX));
            assert_eq!(dot_at(device, variant, &large, &large, (0, 0)).unwrap(), expected);
        }
    }
}

#[test]
fn nan_and_signed_zero_follow_one_policy() {
    for device in devices() {
        for variant in Variant::ALL {
            for position in [0, 1, 2500, 4999] {
                let mut x = vec![1.0f32; 5000];
                x[position] = f32::from_bits(0xffc0_1234);
                let result = dot_at(device, variant, &x, &vec![1.0; 5000], (0, 0)).unwrap();
                assert_eq!(result.to_bits(), f32::NAN.to_bits(), "NaN at {position}, {variant} on {device:?}");
            }
            let result = dot_at(device, variant, &[-0.0f32; 3], &[1.0; 3], (0, 0)).unwrap();
            assert_eq!(result.to_bits(), 0, "{variant} on {device:?}");
        }
    }
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
