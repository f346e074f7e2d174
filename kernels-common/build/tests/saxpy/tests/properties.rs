//! The kernel against the host, on the simulator and on every GPU that is there.

use kernels_common::device::Device;
use kernels_common::element::{Accumulator, Element};
use kernels_common::error::Error;
use kernels_common::for_every_element;
use kernels_common::testing::{Input, devices, inputs, lengths};
use proptest::prelude::*;
use saxpy::{Saxpy, on_host};

/// The bits of an element; all NaN count as one, as processors differ in those that they return.
fn bits<T: Element>(value: T) -> u64 {
    value.widen().normalised().bits()
}

fn check<T: Element>(n: usize, a: f64, x: &Input, y: &Input) -> Result<(), TestCaseError> {
    let (a, x, y) = (T::from_f64(a), x.generate::<T>(n), y.generate::<T>(n));
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut z = stream.alloc_uninit::<T>(n).unwrap();
        let saxpy = Saxpy::<T>::new(&stream).unwrap();
        saxpy.enqueue(a, &stream.upload(&x).unwrap(), &stream.upload(&y).unwrap(), &mut z).unwrap();
        for (i, found) in z.download().unwrap().into_iter().enumerate() {
            let expected = on_host(a, x[i], y[i]);
            prop_assert!(
                bits(found) == bits(expected),
                "{} on {device:?}, element {i} of {n}: {found}, not {expected}",
                T::NAME
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn every_type_agrees_with_the_host(n in lengths(), a in -10.0f64..10.0, x in inputs(), y in inputs()) {
        for_every_element!(check(n, a, &x, &y));
    }
}

#[test]
fn unequal_lengths_are_refused() {
    let stream = Device::open("sim").unwrap().stream().unwrap();
    let saxpy = Saxpy::<f32>::new(&stream).unwrap();
    let (x, y) = (stream.upload(&[1.0; 3]).unwrap(), stream.upload(&[1.0; 2]).unwrap());
    let mut z = stream.alloc_zeros(3).unwrap();
    let error = saxpy.enqueue(2.0, &x, &y, &mut z).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { what: "y", expected: 3, found: 2 }), "{error}");
    assert_eq!(z.download().unwrap(), [0.0; 3]);
}
