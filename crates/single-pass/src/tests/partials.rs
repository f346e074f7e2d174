//! The last block's work on more partials than any test of a whole slice has memory for, by virtual blocks that are
//! smaller than the order's.

use kernels_common::element::Accumulator;
use kernels_common::launch::LaunchConfig;
use kernels_common::module;
use kernels_common::testing::{Input, Values, devices};

use crate::PTX;

/// Elements of a virtual block: one packet.
const LOG2_V: u32 = 2;

/// The value of one virtual block of no more than one packet: every accumulator takes one element in, the lanes combine
/// pairwise, and all other threads of the trees have the identity.
fn packet(x: &[f32]) -> f32 {
    let lane = |i: usize| x.get(i).map_or(0.0, |&x| 0.0 + x);
    ((lane(0) + lane(1)) + (lane(2) + lane(3))) + 0.0
}

/// Neighbours, level by level; an odd last one passes.
fn adjacent(mut values: Vec<f32>) -> f32 {
    while values.len() > 1 {
        values = values.chunks(2).map(|pair| pair.iter().copied().reduce(Accumulator::add).unwrap()).collect();
    }
    values[0]
}

#[test]
fn any_number_of_partials_combines_adjacently() {
    // One block combines 4096 partials in one pass.
    for partials in [2, 8, 9, 255, 257, 4096, 4097, 2 * 4096 + 77] {
        let n = partials * 4 - 1;
        let values: Vec<f32> = Input { values: Values::Uniform, seed: partials as u64 }.generate(n);
        let expected = adjacent(values.chunks(4).map(packet).collect());
        for device in devices() {
            let stream = device.stream().unwrap();
            let [kernel] = module::load(&stream, PTX, ["single_pass_sum_f32"]).unwrap();
            let x = stream.upload(&values).unwrap();
            let mut scratch = stream.alloc_zeros::<f32>(partials.next_multiple_of(8)).unwrap();
            let mut counter = stream.alloc_zeros::<u32>(1).unwrap();
            let mut out = stream.alloc_uninit::<f32>(1).unwrap();
            let arguments = (
                x.as_slice(),
                n as u64,
                LOG2_V,
                partials as u32,
                scratch.as_slice_mut(),
                counter.as_slice_mut(),
                out.as_slice_mut(),
            );
            // SAFETY: x has n elements, there is a partial for each virtual block of 4, up to a multiple of 8, and the
            // counter is zero.
            unsafe { kernel.launch(LaunchConfig::linear(7.min(partials as u32), 512), arguments).unwrap() };
            let result = out.download().unwrap()[0];
            assert_eq!(result.to_bits(), expected.to_bits(), "{partials} partials on {device:?}");
            assert_eq!(counter.download().unwrap(), [0], "{device:?}");
        }
    }
}
