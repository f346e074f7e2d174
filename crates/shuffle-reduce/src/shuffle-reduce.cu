// Sums by warp shuffles: the lanes of a warp hand each other their registers, the warps of a block meet in shared
// memory, and one thread adds the block's sum to *out, which is 0 before the launch. Blocks may have any size.
#include "arithmetic.cuh"
#include "atomic.cuh"
#include "block.cuh"
#include "convert.cuh"
#include "grid.cuh"
#include "instantiate.cuh"
#include "stride.cuh"
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
// device holds at once, so that trees and atomic additions no longer grow with n.
template <class T>
__device__ inline void grid_stride(const T* x, u64 n, sum_t<T>* out) {
    add_block_sum(strided_sum(x, n, thread_1d(), threads_1d()), out);
}

INSTANTIATE(shuffle, __launch_bounds__(1024), (const T* x, u64 n, sum_t<T>* out), (x, n, out))
INSTANTIATE(grid_stride, __launch_bounds__(1024), (const T* x, u64 n, sum_t<T>* out), (x, n, out))
