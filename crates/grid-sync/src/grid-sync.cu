// Sums in one cooperative launch. All blocks are resident at once, so that they can wait for each other at a barrier of
// the whole grid. Every thread of every block reaches every barrier, whether it has elements or not: one that returned
// early would leave the others waiting.
#include <cooperative_groups.h>

#include "arithmetic.cuh"
#include "block.cuh"
#include "grid.cuh"
#include "instantiate.cuh"
#include "stride.cuh"
#include "types.cuh"

constexpr u32 THREADS = 256;

// The barrier orders memory too: what any thread wrote before it, every thread may read after it.
__device__ inline void grid_barrier() { cooperative_groups::this_grid().sync(); }

// The sum of one value of each thread of the block; the result is in thread 0.
template <class S>
__device__ inline S block_sum(S value) {
    __shared__ S warp_values[THREADS / WARP];
    return block_tree<Plus, THREADS>(value, warp_values);
}

// partials[b] is the sum of what block b's threads take: thread t of the grid elements t, t + threads, ...
template <class T>
__device__ inline void leave_partial(const T* x, u64 n, sum_t<T>* partials) {
    sum_t<T> sum = block_sum(strided_sum(x, n, thread_1d(), threads_1d()));
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
    }
}

// One barrier, then block 0 adds up all partials while the others are done. The barrier does what the end of a launch
// does in two launches, without a second launch.
template <class T>
__device__ inline void one_barrier(const T* x, u64 n, sum_t<T>* partials, sum_t<T>* out) {
    leave_partial(x, n, partials);
    grid_barrier();
    // The same for all threads of a block, and no grid barrier follows.
    if (blockIdx.x == 0) {
        sum_t<T> sum = block_sum(strided_sum(partials, gridDim.x, threadIdx.x, THREADS));
        if (threadIdx.x == 0) {
            *out = normalised(sum);
        }
    }
}

// A barrier for each halving of the partials, to show several in one kernel. Worse than one: each barrier is an atomic
// addition by every block to one address, and a wait for the slowest, where block 0 alone has its own barrier.
template <class T>
__device__ inline void barriers(const T* x, u64 n, sum_t<T>* partials, sum_t<T>* out) {
    leave_partial(x, n, partials);
    u64 i = thread_1d();
    // How often this runs depends on the grid alone, so that all threads meet at each barrier.
    for (u64 count = gridDim.x; count > 1;) {
        grid_barrier();
        u64 half = (count + 1) / 2;
        if (i + half < count) {
            partials[i] = add(partials[i], partials[i + half]);
        }
        count = half;
    }
    // Thread 0 of the grid wrote this value itself.
    if (i == 0) {
        *out = normalised(partials[0]);
    }
}

INSTANTIATE(one_barrier, __launch_bounds__(THREADS), (const T* x, u64 n, sum_t<T>* partials, sum_t<T>* out),
            (x, n, partials, out))
INSTANTIATE(barriers, __launch_bounds__(THREADS), (const T* x, u64 n, sum_t<T>* partials, sum_t<T>* out),
            (x, n, partials, out))
