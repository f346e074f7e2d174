//! Every variant, for every element type, against the host, on every device present.

use kernels_common::device::Device;
use kernels_common::element::{Element, bf16, f16};
use kernels_common::error::Error;
use kernels_common::for_every_element;
use kernels_common::graph::Graph;
use kernels_common::memory::DeviceBuffer;
use kernels_common::testing::schedules::on_every_schedule;
use kernels_common::testing::{Input, Offset, Values, devices, every_offset, inputs, lengths, offsets, upload_at};
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
    // What is only read ends with its buffer: on the simulator a read past the end is a fault.
    let x = upload_at(&stream, input[0], offsets.0).unwrap();
    let y = upload_at(&stream, input[1], offsets.1).unwrap();
    // Guards before and after show a write that strays.
    let guard = T::from_f64(77.0);
    let mut z = upload_at(&stream, &[input[2], &[guard; 3]].concat(), offsets.2).unwrap();
    z.slice_mut(..offsets.2).unwrap().copy_from(&vec![guard; offsets.2]).unwrap();
    let add = VecAdd::<T>::with_variant(&stream, variant).unwrap();
    let mut expected = input[2].to_vec();
    for accumulate in [false, true] {
        let (x, y) = (x.slice(offsets.0..).unwrap(), y.slice(offsets.1..).unwrap());
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

fn check<T: Element>(n: usize, inputs: [Input; 3], offsets: [Offset; 3]) -> Result<(), TestCaseError> {
    let [x, y, z] = offsets.map(Offset::elements::<T>);
    check_at::<T>(n, inputs, (x, y, z))
}

fn check_at<T: Element>(n: usize, inputs: [Input; 3], offsets: (usize, usize, usize)) -> Result<(), TestCaseError> {
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
        offsets in prop_oneof![Just([Offset::default(); 3]), [offsets(), offsets(), offsets()]],
    ) {
        for_every_element!(check(n, inputs, offsets));
    }

    #[test]
    fn a_graph_gives_what_calls_give(
        n in lengths(),
        inputs in proptest::collection::vec([inputs(), inputs()], 1..4),
        offsets in [offsets(), offsets(), offsets()],
    ) {
        for device in devices() {
            for variant in Variant::ALL {
                check_graph::<f32>(device, variant, n, &inputs, offsets)?;
                check_graph::<f16>(device, variant, n, &inputs, offsets)?;
                check_graph::<u64>(device, variant, n, &inputs, offsets)?;
            }
        }
    }
}

/// What a graph of additions works on: x, y and z, each with the place of its first element.
struct Captured<T: Element> {
    add: VecAdd<T>,
    vectors: [(DeviceBuffer<T>, usize); 3],
}

impl<T: Element> Captured<T> {
    /// z = x + y, and then z = x + y + z.
    fn record(&mut self) -> Result<(), Error> {
        let Captured { add, vectors: [x, y, z] } = self;
        let (x, y) = (x.0.slice(x.1..)?, y.0.slice(y.1..)?);
        add.add(x, y, z.0.slice_mut(z.1..)?)?;
        add.accumulate(x, y, z.0.slice_mut(z.1..)?)
    }
}

fn check_graph<T: Element>(
    device: &Device,
    variant: Variant,
    n: usize,
    inputs: &[[Input; 2]],
    offsets: [Offset; 3],
) -> Result<(), TestCaseError> {
    let stream = device.stream().unwrap();
    let vectors = offsets.map(|offset| {
        let offset = offset.elements::<T>();
        (stream.alloc_uninit(offset + n).unwrap(), offset)
    });
    let captured = Captured { add: VecAdd::<T>::with_variant(&stream, variant).unwrap(), vectors };
    let mut graph = Graph::capture(&stream, captured, Captured::record).unwrap();
    for input in inputs {
        let values: [Vec<T>; 2] = input.map(|input| input.generate(n));
        for ((vector, offset), values) in graph.resources_mut().vectors.iter_mut().zip(&values) {
            vector.slice_mut(*offset..).unwrap().copy_from(values).unwrap();
        }
        let mut expected = vec![T::from_f64(0.0); n];
        add_on_host(&values[0], &values[1], &mut expected);
        accumulate_on_host(&values[0], &values[1], &mut expected);
        for launch in 0..2 {
            graph.launch().unwrap();
            let (z, offset) = &graph.resources().vectors[2];
            let found = z.slice(*offset..).unwrap().download().unwrap();
            let right = found.iter().zip(&expected).all(|(&found, &expected)| same(found, expected));
            prop_assert!(right, "launch {launch} of {n} elements of {}, {variant} on {device:?}", T::NAME);
        }
    }
    Ok(())
}

/// The boundaries of packets, warps and blocks, and one element with nothing after it that could be read.
#[test]
fn boundaries() {
    fn of_type<T: Element>(n: usize) -> Result<(), TestCaseError> {
        let uniform = |seed| Input { values: Values::Uniform, seed };
        check_at::<T>(n, [uniform(1), uniform(2), uniform(3)], (0, 0, 0))
    }
    let run = || -> Result<(), TestCaseError> {
        for n in [1, 2, 3, 31, 32, 33, 255, 256, 257, 1000, 1023, 1024, 1025, 4095, 4096, 4097, 8193] {
            for_every_element!(of_type(n));
        }
        Ok(())
    };
    run().unwrap();
}

/// The last vector of small blocks and the first of large ones. For one type, the last whose launches overlap and the
/// first whose launches do not.
#[test]
fn large_vectors() {
    fn of_type<T: Element>(lengths: &[usize]) -> Result<(), TestCaseError> {
        let uniform = |seed| Input { values: Values::Uniform, seed };
        for &n in lengths {
            let values: [Vec<T>; 3] = [1, 2, 3].map(|seed| uniform(seed).generate(n));
            for device in devices() {
                for offsets in [(0, 0, 0), (1, 0, 0)] {
                    check_on(device, Variant::Packets, [&values[0], &values[1], &values[2]], offsets)?;
                }
            }
        }
        Ok(())
    }
    fn around_small<T: Element>() -> Result<(), TestCaseError> {
        let most = (1 << 20) / size_of::<T>();
        of_type::<T>(&[most, most + 1, most + 16 * 1024 / size_of::<T>() + 3])
    }
    let run = || -> Result<(), TestCaseError> {
        for_every_element!(around_small());
        of_type::<f32>(&[1 << 20, (1 << 20) + 1])
    };
    run().unwrap();
}

/// Launches that overlap still see what the ones before them wrote: each adds the results of the two before, as for the
/// Fibonacci numbers. Some are by a kernel that does not wait.
#[test]
fn a_launch_sees_what_the_one_before_it_wrote() {
    const ROUNDS: usize = 24;
    for device in devices() {
        let stream = device.stream().unwrap();
        let packets = VecAdd::<u32>::new(&stream).unwrap();
        let other = VecAdd::<u32>::with_variant(&stream, Variant::Grid1d).unwrap();
        // Of one block; of as many small ones, and as many large ones, as launches that overlap can have.
        for n in [500usize, 1 << 18, 1 << 20] {
            for offset in [0, 1] {
                let mut host: [Vec<u32>; 2] = [1, 2].map(|seed| (0..n as u32).map(|i| i * 7 + seed).collect());
                let zeros = vec![0; n];
                let upload = |values| upload_at(&stream, values, offset).unwrap();
                let mut buffers = [upload(&host[0]), upload(&host[1]), upload(&zeros)];
                for round in 0..ROUNDS {
                    let [x, y, z] = &mut buffers;
                    let (x, y) = (x.slice(offset..).unwrap(), y.slice(offset..).unwrap());
                    let add = if round % 8 == 7 { &other } else { &packets };
                    add.add(x, y, z.slice_mut(offset..).unwrap()).unwrap();
                    buffers.rotate_left(1);
                }
                for _ in 0..ROUNDS {
                    let [x, y] = &mut host;
                    add_on_host(&x.clone(), y, x);
                    host.rotate_left(1);
                }
                for (found, expected) in buffers.iter().zip(&host) {
                    let found = found.slice(offset..).unwrap();
                    let mut values = vec![0; n];
                    found.copy_to(&mut values).unwrap();
                    assert!(values == *expected, "{n} elements from {offset} on {device:?}");
                }
            }
        }
    }
}

/// Every place within a packet at which each of the slices can start, alone and together.
#[test]
fn every_alignment() {
    fn of_type<T: Element>() -> Result<(), TestCaseError> {
        let uniform = |seed| Input { values: Values::Uniform, seed };
        for n in [1, 41, 1030] {
            for place in every_offset::<T>() {
                for offsets in [(place, 0, 0), (0, place, 0), (0, 0, place), (place, place, place)] {
                    check_at::<T>(n, [uniform(1), uniform(2), uniform(3)], offsets)?;
                }
            }
        }
        Ok(())
    }
    let run = || -> Result<(), TestCaseError> {
        for_every_element!(of_type());
        Ok(())
    };
    run().unwrap();
}

/// No schedule of the simulator leads to a fault, or to another sum.
#[test]
fn every_schedule_is_clean() {
    fn check<T: Element>(device: &Device) -> Result<(), TestCaseError> {
        let input: [Vec<T>; 3] = [1, 2, 3].map(|seed| Input { values: Values::Uniform, seed }.generate(2500));
        for variant in Variant::ALL {
            check_on(device, variant, [&input[0], &input[1], &input[2]], (0, 0, 0))?;
            check_on(device, variant, [&input[0], &input[1], &input[2]], (1, 1, 1))?;
        }
        Ok(())
    }
    let every_type = |device: &Device| -> Result<(), TestCaseError> {
        for_every_element!(check(device));
        Ok(())
    };
    for options in ["sms=4", "sms=4,cc=9.0"] {
        on_every_schedule(options, |device| {
            every_type(device).unwrap();
            Ok(())
        });
    }
}

/// A tail that is added twice is seen in the sum with what was there.
#[test]
fn ones_count_once() {
    fn of_type<T: Element>() -> Result<(), TestCaseError> {
        let ones = Input { values: Values::Ones, seed: 0 };
        for n in [1000, 4097] {
            check_at::<T>(n, [ones; 3], (0, 0, 0))?;
            check_at::<T>(n, [ones; 3], (1, 1, 1))?;
        }
        Ok(())
    }
    let run = || -> Result<(), TestCaseError> {
        for_every_element!(of_type());
        Ok(())
    };
    run().unwrap();
}

/// Runs one operation on slices that start `offset` elements into their buffers.
fn run<T: Element>(add: &VecAdd<T>, accumulate: bool, x: &[T], y: &[T], z: &mut [T], offset: usize) {
    let upload = |values: &[T]| upload_at(add.stream(), values, offset).unwrap();
    let (x, y, mut target) = (upload(x), upload(y), upload(z));
    let (x, y) = (x.slice(offset..).unwrap(), y.slice(offset..).unwrap());
    if accumulate {
        add.accumulate(x, y, target.slice_mut(offset..).unwrap()).unwrap();
    } else {
        add.add(x, y, target.slice_mut(offset..).unwrap()).unwrap();
    }
    target.slice(offset..).unwrap().copy_to(z).unwrap();
}

/// Runs `check` with every variant on every device, for slices that are aligned and that are not.
fn everywhere<T: Element>(check: impl Fn(&VecAdd<T>, usize)) {
    for device in devices() {
        let stream = device.stream().unwrap();
        for variant in Variant::ALL {
            let add = VecAdd::<T>::with_variant(&stream, variant).unwrap();
            check(&add, 0);
            check(&add, 1);
        }
    }
}

/// NaN stays where it is, whichever summand it is.
#[test]
fn nan_stays_where_it_is() {
    const LEN: usize = 300;
    fn of_type<T: Element>(nan: T) {
        let ones = [T::from_f64(1.0); LEN];
        for positions in [vec![0], vec![LEN / 2], vec![LEN - 1], (0..LEN).collect()] {
            let mut nans = ones;
            positions.iter().for_each(|&position| nans[position] = nan);
            everywhere::<T>(|add, offset| {
                let check = |accumulate, x: &[T], y: &[T], mut z: [T; LEN]| {
                    run(add, accumulate, x, y, &mut z, offset);
                    for (index, z) in z.iter().enumerate() {
                        let expected = positions.contains(&index);
                        assert_eq!(z.to_f64().is_nan(), expected, "{} {} {index}", T::NAME, add.variant());
                    }
                };
                for accumulate in [false, true] {
                    check(accumulate, &nans, &ones, ones);
                    check(accumulate, &ones, &nans, ones);
                }
                check(true, &ones, &ones, nans);
                // What an addition overwrites does not matter.
                check(false, &nans, &ones, [nan; LEN]);
            });
        }
    }
    of_type(f32::from_bits(0xffc0_1234));
    of_type(f64::from_bits(0xfff8_0000_dead_beef));
    of_type(f16::from_bits(0xfe12));
    of_type(bf16::from_bits(0xffc1));
}

#[test]
fn negative_zeros_add_up_to_negative_zero() {
    fn of_type<T: Element>() {
        let zeros = [T::from_f64(-0.0); 3];
        assert_ne!(bytemuck::bytes_of(&zeros[0]), bytemuck::bytes_of(&T::default()));
        everywhere::<T>(|add, offset| {
            for accumulate in [false, true] {
                let mut z = zeros;
                run(add, accumulate, &zeros, &zeros, &mut z, offset);
                let same = bytemuck::cast_slice::<T, u8>(&z) == bytemuck::cast_slice::<T, u8>(&zeros);
                assert!(same, "{} {}: {z:?}", T::NAME, add.variant());
            }
        });
    }
    of_type::<f32>();
    of_type::<f64>();
    of_type::<f16>();
    of_type::<bf16>();
}

/// Where host and kernels must not use unified memory at the same time, an addition is refused while the host looks.
#[test]
fn a_host_view_keeps_kernels_away() {
    use kernels_common::memory::{Attach, UnifiedBuffer};
    let stream = Device::open("sim:managed=exclusive").unwrap().stream().unwrap();
    let mut z = UnifiedBuffer::<f32>::zeros(&stream, 4, Attach::Global).unwrap();
    let ones = stream.upload(&[1.0f32; 4]).unwrap();
    let mut other = stream.upload(&[5.0f32; 4]).unwrap();
    for variant in Variant::ALL {
        let add = VecAdd::<f32>::with_variant(&stream, variant).unwrap();
        let view = z.host().unwrap();
        assert!(matches!(add.add(&ones, &ones, &mut other), Err(Error::HostAccess { .. })));
        drop(view);
        assert_eq!(other.download().unwrap(), [5.0; 4]);
        add.add(&ones, &ones, z.as_slice_mut()).unwrap();
        assert_eq!(*z.host().unwrap(), [2.0; 4]);
    }
}

#[test]
fn nothing_is_launched_for_nothing() {
    // Devices of its own: the others' counters are shared with tests that run at the same time.
    fn of_type<T: Element>(device: &Device) -> Result<(), Error> {
        let stream = device.stream()?;
        let (empty, some) = (stream.alloc_zeros::<T>(0)?, stream.alloc_zeros::<T>(4)?);
        let mut z = stream.alloc_zeros::<T>(4)?;
        for variant in Variant::ALL {
            let add = VecAdd::<T>::with_variant(&stream, variant)?;
            add.add(&empty, some.slice(4..)?, z.slice_mut(2..2)?)?;
            add.accumulate(&empty, &empty, z.slice_mut(..0)?)?;
        }
        assert!(z.download()?.iter().all(|z| *z == T::default()));
        Ok(())
    }
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
        assert!(matches!(add.add(&x, &elsewhere, &mut z), Err(Error::StreamMismatch { what: "y" })));
        assert_eq!(z.download().unwrap(), [0.0; 4]);
    }
}
