//! What a profiler would count: the figures of docs/grid-sync.md.

use grid_sync::{GridSync, Variant};
use kernels_common::testing::sums::counted;

/// For 2^20 elements of type f32.
#[test]
fn the_figures_of_the_documentation_are_what_is_counted() {
    let count = |variant| counted("sim", 1 << 20, |stream| GridSync::<f32>::new(stream, variant));
    let [one_barrier, barriers] = Variant::ALL.map(count);
    // 8 multiprocessors hold 4 blocks of 256 threads each.
    assert_eq!((one_barrier.blocks, barriers.blocks), (32, 32));
    // Each block counts itself at each barrier: at one, or at the five that halve 32 partials.
    assert_eq!((one_barrier.global_atomics, barriers.global_atomics), (32, 5 * 32));
    // A partial of each block; then the result, or five steps by one warp and the result.
    assert_eq!((one_barrier.global_store_requests, barriers.global_store_requests), (32 + 1, 32 + 5 + 1));
    // Each element once, then the partials, and whatever the waiting blocks load until the others have come.
    assert!(one_barrier.global_load_requests > 32_768 + 1 + 32);
    assert!(barriers.global_load_requests > 32_768 + 2 * 5 + 5 * 32);
}
