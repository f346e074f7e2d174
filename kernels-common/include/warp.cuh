// Trees over the 32 lanes of a warp. Every lane of the warp has to take part; lane 0 gets the result.
#pragma once

#include "types.cuh"

constexpr u32 WARP = 32;

__device__ inline u32 lane_number() { return threadIdx.x % WARP; }
__device__ inline u32 warp_number() { return threadIdx.x / WARP; }

// The value of the lane `offset` places up. Named lanes, never an assumption that a warp runs in lock step.
template <class S>
__device__ inline S shuffle_down(S value, u32 offset) {
    return __shfl_down_sync(0xffffffff, value, offset);
}

// Lane i takes in lane i + offset, the offset halving down to 1. Starts with the first 2 * OFFSET lanes.
template <class Op, u32 OFFSET = WARP / 2, class S>
__device__ inline S warp_tree(S value) {
#pragma unroll
    for (u32 offset = OFFSET; offset > 0; offset /= 2) {
        value = Op::combine(value, shuffle_down(value, offset));
    }
    return value;
}

// Neighbours first: 0 with 1, 2 with 3, then those, over the values of the first `present` lanes. A value without a
// partner passes unchanged.
template <class Op, class S>
__device__ inline S warp_adjacent_tree(S value, u32 present) {
#pragma unroll
    for (u32 offset = 1; offset < WARP; offset *= 2) {
        S partner = shuffle_down(value, offset);
        if (lane_number() + offset < present) {
            value = Op::combine(value, partner);
        }
    }
    return value;
}
