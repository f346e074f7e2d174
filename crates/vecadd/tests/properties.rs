//! Every variant, for every element type, against the host, on every device present.

use kernels_common::device::Device;
use kernels_common::element::Element;
use kernels_common::error::Error;
use kernels_common::for_every_element;
use kernels_common::testing::{Input, devices, inputs, lengths};
use proptest::prelude::*;
use vecadd::{Variant, VecAdd, accumulate_on_host, add_on_host};

/// Equal, or both NaN: which NaN an addition returns is up to the processor.
fn same<T: Element>(found: T, expected: T) -> bool {
    bytemuck::bytes_of(&found) == bytemuck::bytes_of(&expected)
        || (found.to_f64().is_nan() && expected.to_f64().is_nan())
}

fn check_on<T: Element>(
    device: &Device,
    variant: Variant,
    input: [&[T]; 3],
    offsets: (usize, usize, usize),
) -> Result<(), TestCaseError> {
    let stream = device.stream().unwrap();
    let n = input[0].len();
    let guard = T::from_f64(77.0);
    // Guards before and after show a write that strays.
    let padded = |values: &[T], offset: usize| {
        let mut all = vec![guard; offset];
        all.extend_from_slice(values);
        all.extend_from_slice(&[guard; 3]);
        stream.upload(&all).unwrap()
    };
    let (x, y) = (padded(input[0], offsets.0), padded(input[1], offsets.1));
    let mut z = padded(input[2], offsets.2);
    let add = VecAdd::<T>::with_variant(&stream, variant).unwrap();
    let mut expected = input[2].to_vec();
    for accumulate in [false, true] {
        let (x, y) = (x.slice(offsets.0..offsets.0 + n).unwrap(), y.slice(offsets.1..offsets.1 + n).unwrap());
        let target = z.slice_mut(offsets.2..offsets.2 + n).unwrap();
        if accumulate {
            add.accumulate(x, y, target).unwrap();
            accumulate_on_host(input[0], input[1], &mut expected);
        } else {
            add.add(x, y, target).unwrap();
            add_on_host(input[0], input[1], &mut expected);
        }
        let found = z.download().unwrap();
        for (index, (&found, &expected)) in found[offsets.2..offsets.2 + n].iter().zip(&expected).enumerate() {
            prop_assert!(
                same(found, expected),
                "{} {variant} on {device:?}, accumulate {accumulate}, element {index} of {n}: {found}, not {expected}",
                T::NAME
            );
        }
        let intact = found[..offsets.2].iter().chain(&found[offsets.2 + n..]).all(|&value| same(value, guard));
        prop_assert!(intact, "{} {variant} on {device:?} wrote beside its output", T::NAME);
    }
    Ok(())
}

fn check<T: Element>(n: usize, inputs: [Input; 3], offsets: (usize, usize, usize)) -> Result<(), TestCaseError> {
    let values: [Vec<T>; 3] = inputs.map(|input| input.generate(n));
    for device in devices() {
        for variant in Variant::ALL {
            check_on(device, variant, [&values[0], &values[1], &values[2]], offsets)?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn every_variant_and_type_agrees_with_the_host(
        n in lengths(),
        inputs in [inputs(), inputs(), inputs()],
        offsets in prop_oneof![Just((0usize, 0usize, 0usize)), (0usize..9, 0usize..9, 0usize..9)],
    ) {
        for_every_element!(check(n, inputs, offsets));
    }
}

#[test]
fn nothing_is_launched_for_nothing() {
    // Devices of its own: the others' counters are shared with tests that run at the same time.
    for device in devices().iter().map(|device| Device::open(&device.properties().selector).unwrap()) {
        let stream = device.stream().unwrap();
        let empty = stream.alloc_zeros::<f32>(0).unwrap();
        let mut z = stream.alloc_zeros::<f32>(0).unwrap();
        for variant in Variant::ALL {
            let add = VecAdd::<f32>::with_variant(&stream, variant).unwrap();
            add.add(&empty, &empty, &mut z).unwrap();
            add.accumulate(&empty, &empty, &mut z).unwrap();
        }
        assert!(z.download().unwrap().is_empty());
        // A GPU does not count; there a launch without blocks would have been an error.
        assert!(device.take_counters().is_none_or(|counters| counters == Default::default()));
    }
}

#[test]
fn wrong_input_is_a_typed_error() {
    for device in devices() {
        let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
        let x = stream.upload(&[1.0f32; 4]).unwrap();
        let elsewhere = other.upload(&[1.0f32; 4]).unwrap();
        let mut z = stream.alloc_zeros::<f32>(4).unwrap();
        let add = VecAdd::<f32>::new(&stream).unwrap();
        let short = x.slice(1..).unwrap();
        assert!(matches!(add.add(short, &x, &mut z), Err(Error::LengthMismatch { what: "y", expected: 3, found: 4 })));
        let part = z.slice_mut(..3).unwrap();
        assert!(matches!(add.add(&x, &x, part), Err(Error::LengthMismatch { what: "z", expected: 4, found: 3 })));
        assert!(matches!(add.add(&x, &elsewhere, &mut z), Err(Error::StreamMismatch { .. })));
        assert_eq!(z.download().unwrap(), [0.0; 4]);
    }
}
