// Trees over the threads of a block.
#pragma once

#include "types.cuh"
#include "warp.cuh"

// Combines one value of each of THREADS threads: the tree of each warp, then the tree of the warps' values. The result
// is in thread 0. All threads have to call it, and a barrier has to lie between two uses of the same `warp_values`.
template <class Op, u32 THREADS, class S>
__device__ inline S block_tree(S value, S (&warp_values)[THREADS / WARP]) {
    constexpr u32 WARPS = THREADS / WARP;
    static_assert(THREADS % WARP == 0 && WARPS <= WARP && (WARPS & (WARPS - 1)) == 0, "a power of two of whole warps");
    value = warp_tree<Op>(value);
    if (lane_number() == 0) {
        warp_values[warp_number()] = value;
    }
    __syncthreads();
    if (warp_number() == 0) {
        value = lane_number() < WARPS ? warp_values[lane_number()] : Op::template identity<S>();
        value = warp_tree<Op, WARPS / 2>(value);
    }
    return value;
}

// Combines the values that the lanes 0 of the block's warps hold; the result is in thread 0. For blocks of any size.
// All threads have to call it, and a barrier has to lie between two uses of the same `warp_values`.
template <class Op, class S>
__device__ inline S combine_warps(S value, S (&warp_values)[WARP]) {
    u32 warps = (blockDim.x + WARP - 1) / WARP;
    if (warps == 1) {
        return value;
    }
    if (lane_number() == 0) {
        warp_values[warp_number()] = value;
    }
    __syncthreads();
    // There are at least as many threads in the first warp as there are warps.
    if (threadIdx.x < warps) {
        value = warp_tree_of<Op>(warp_values[threadIdx.x], warps);
    }
    return value;
}

// As block_tree, for blocks of any size: the last warp may have fewer than 32 lanes.
template <class Op, class S>
__device__ inline S any_block_tree(S value, S (&warp_values)[WARP]) {
    return combine_warps<Op>(warp_tree_of<Op>(value, lanes_present()), warp_values);
}
