//! What a profiler would count: the figures of docs/twopass.md.

use kernels_common::testing::sums::counted;
use twopass::{TwoPass, Variant};

/// For 2^20 elements of type f32.
#[test]
fn the_figures_of_the_documentation_are_what_is_counted() {
    let count = |variant| counted("sim", 1 << 20, |stream| TwoPass::<f32>::new(stream, variant));
    let [one_element, grid_stride] = Variant::ALL.map(count);
    // Of both: each element once, 32 to a request and 8 to a sector; and each partial written once and read once.
    assert_eq!((one_element.blocks, grid_stride.blocks), (4096 + 1, 1024 + 1));
    assert_eq!((one_element.global_load_requests, grid_stride.global_load_requests), (32_768 + 128, 32_768 + 32));
    assert_eq!((one_element.global_load_sectors, grid_stride.global_load_sectors), (131_072 + 512, 131_072 + 128));
    assert_eq!((one_element.global_store_requests, grid_stride.global_store_requests), (4096 + 1, 1024 + 1));
    assert_eq!((one_element.shuffles, grid_stride.shuffles), (176_293, 44_197));
    assert_eq!((one_element.barriers, grid_stride.barriers), (32_800, 8224));
    for counters in [one_element, grid_stride] {
        let atomics = counters.global_atomics + counters.global_reductions + counters.fences;
        assert_eq!((atomics, counters.shared_load_wavefronts), (0, counters.shared_load_requests));
    }
}
