// Trees in shared memory.
#pragma once

#include "arithmetic.cuh"
#include "types.cuh"
#include "warp.cuh"

// The dynamic shared memory of the block; how many values fit is up to the launch.
template <class S>
__device__ inline S* dynamic_shared() {
    extern __shared__ u64 dynamic_shared_words[];
    return reinterpret_cast<S*>(dynamic_shared_words);
}

// The sum of values[0] to values[31], or of fewer if there are no more, by the first warp of the block; the result is
// in lane 0. Behind them there have to be as many again, which do not count, or nothing at all: COUNT says how many
// values there are, 64 or more for the first case.
//
// One warp alone needs no barrier of the block. It needs one of the warp, between what a step reads and what it writes
// and after that: its lanes need not run in lock step.
template <u32 COUNT, class S>
__device__ inline S last_warp_tree(S* values) {
    u32 t = threadIdx.x;
    S sum = values[t];
#pragma unroll
    for (u32 stride = (COUNT < WARP ? COUNT : WARP) / 2; stride > 0; stride /= 2) {
        if (COUNT >= 2 * WARP || t + stride < COUNT) {
            sum = add(sum, values[t + stride]);
        }
        __syncwarp();
        values[t] = sum;
        __syncwarp();
    }
    return sum;
}

// The sum of one value of each of THREADS threads, a power of two; the result is in thread 0. The stride halves, so
// that the threads at work are neighbours: whole warps retire together, and an access never has a bank conflict. All
// threads have to call it, once in a kernel.
template <u32 THREADS, class S>
__device__ inline S shared_tree(S value) {
    static_assert(THREADS > 0 && THREADS <= 1024 && (THREADS & (THREADS - 1)) == 0, "a power of two that fits a block");
    __shared__ S values[THREADS];
    u32 t = threadIdx.x;
    values[t] = value;
    __syncthreads();
#pragma unroll
    for (u32 stride = THREADS / 2; stride >= WARP; stride /= 2) {
        if (t < stride) {
            values[t] = add(values[t], values[t + stride]);
        }
        __syncthreads();
    }
    if (t < WARP) {
        value = last_warp_tree<THREADS>(values);
    }
    return value;
}
