// nvcc: -lineinfo
// One launch, many steps: all blocks of the grid wait for each other.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Steps of a one-dimensional automaton (rule 110) on a ring, from one buffer to the other.
extern "C" __global__ void automaton(unsigned char* a, unsigned char* b, int n, int steps) {
    cg::grid_group grid = cg::this_grid();
    for (int step = 0; step < steps; ++step) {
        for (int i = grid.thread_rank(); i < n; i += grid.size()) {
            int around = a[(i + n - 1) % n] << 2 | a[i] << 1 | a[(i + 1) % n];
            b[i] = 110 >> around & 1;
        }
        grid.sync();
        unsigned char* c = a;
        a = b;
        b = c;
    }
}

// Sum of all, known to all: every block adds its share, waits, and divides.
extern "C" __global__ void normalise(float* x, int n, float* total) {
    auto grid = cg::this_grid();
    auto block = cg::this_thread_block();
    __shared__ float share;
    if (block.thread_rank() == 0) share = 0;
    block.sync();
    float sum = 0;
    for (unsigned i = grid.thread_rank(); i < n; i += grid.num_threads()) sum += x[i];
    atomicAdd(&share, sum);
    block.sync();
    if (block.thread_rank() == 0) atomicAdd(total, share);
    grid.sync();
    float all = *(volatile float*)total;
    for (unsigned i = grid.thread_rank(); i < n; i += grid.num_threads()) x[i] = x[i] / all;
}

// Odd-even transposition sort, a barrier a step; it stops when no pair was exchanged. Blocks in two dimensions.
extern "C" __global__ void transposition_sort(int* x, int n, volatile int* swaps) {
    cg::grid_group grid = cg::this_grid();
    for (int step = 0;; ++step) {
        if (grid.thread_rank() == 0) swaps[(step + 1) % 3] = 0;
        for (int i = step % 2 + 2 * (int)grid.thread_rank(); i + 1 < n; i += 2 * (int)grid.size()) {
            int a = x[i], b = x[i + 1];
            if (a > b) {
                x[i] = b;
                x[i + 1] = a;
                swaps[step % 3] = 1;
            }
        }
        grid.sync();
        if (step % 2 && swaps[step % 3] == 0 && swaps[(step + 2) % 3] == 0) return;
        grid.sync();
    }
}
