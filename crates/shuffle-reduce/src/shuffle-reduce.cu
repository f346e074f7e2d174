// Sums by warp shuffles: the lanes of a warp hand each other their registers, the warps of a block meet in shared
// memory, and one thread adds the block's sum to *out, which is 0 before the launch. Blocks may have any size.
#include "arithmetic.cuh"
#include "atomic.cuh"
#include "block.cuh"
#include "convert.cuh"
#include "grid.cuh"
#include "instantiate.cuh"
#include "types.cuh"
#include "warp.cuh"

// The sum of one value of each thread of the block, added to the result.
template <class S>
__device__ inline void add_block_sum(S value, S* out) {
    __shared__ S warp_values[WARP];
    S sum = any_block_tree<Plus>(value, warp_values);
    if (threadIdx.x == 0) {
        atomic_add(out, sum);
    }
}

// One element a thread. Against a tree in shared memory there is one barrier instead of one for every round, and a
// block needs as much shared memory as it has warps.
template <class T>
__device__ inline void shuffle(const T* x, u64 n, sum_t<T>* out) {
    u64 i = thread_1d();
    add_block_sum(i < n ? widen(x[i]) : sum_t<T>(0), out);
}

// Each thread first adds up its elements, one from every width of the grid, in a register. The grid is as large as the
// device holds at once, so that trees and atomic additions no longer grow with n. Neighbours read neighbours in every
// step. Four loads are under way before the first has to be there: a loop that asks after each load whether it was the
// last would wait for the memory four times as often.
template <class T>
__device__ inline void grid_stride(const T* x, u64 n, sum_t<T>* out) {
    constexpr u32 IN_FLIGHT = 4;
    u64 stride = threads_1d();
    u64 i = thread_1d();
    sum_t<T> sum = 0;
    for (; i + (IN_FLIGHT - 1) * stride < n; i += IN_FLIGHT * stride) {
        T batch[IN_FLIGHT];
#pragma unroll
        for (u32 k = 0; k < IN_FLIGHT; ++k) {
            batch[k] = x[i + k * stride];
        }
#pragma unroll
        for (u32 k = 0; k < IN_FLIGHT; ++k) {
            sum = add(sum, widen(batch[k]));
        }
    }
    for (; i < n; i += stride) {
        sum = add(sum, widen(x[i]));
    }
    add_block_sum(sum, out);
}

INSTANTIATE(shuffle, __launch_bounds__(1024), (const T* x, u64 n, sum_t<T>* out), (x, n, out))
INSTANTIATE(grid_stride, __launch_bounds__(1024), (const T* x, u64 n, sum_t<T>* out), (x, n, out))
