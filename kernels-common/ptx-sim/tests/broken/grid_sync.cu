// The largest element is found, then all are divided by it: with the grid barrier of cooperative groups between.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void normalise(int* x, int* most, int n) {
    auto grid = cg::this_grid();
    int i = grid.thread_rank();
    if (i < n) atomicMax(most, x[i]);
    grid.sync();
    if (i < n) x[i] = 1000 * x[i] / *most;
}

// The blocks that have no elements do not come, and are waited for.
extern "C" __global__ void normalise_with_blocks_that_leave(int* x, int* most, int n) {
    auto grid = cg::this_grid();
    int i = grid.thread_rank();
    if (blockIdx.x * blockDim.x >= n) return;
    if (i < n) atomicMax(most, x[i]);
    grid.sync(); // <- livelock
    if (i < n) x[i] = 1000 * x[i] / *most;
}

// The barrier is missing.
extern "C" __global__ void normalise_without_barrier(int* x, int* most, int n) {
    auto grid = cg::this_grid();
    int i = grid.thread_rank();
    if (i < n) atomicMax(most, x[i]);      // <- race
    cg::this_thread_block().sync();
    if (i < n) x[i] = 1000 * x[i] / *most; // <- race
}
