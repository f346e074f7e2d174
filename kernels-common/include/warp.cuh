// Trees over the lanes of a warp. Every lane of the warp has to take part unless it says otherwise; lane 0 gets the
// result.
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

// How many lanes the calling thread's warp has: fewer than 32 in the last warp of a block of, say, 45 threads.
__device__ inline u32 lanes_present() {
    u32 left = blockDim.x - warp_number() * WARP;
    return left < WARP ? left : WARP;
}

// The mask of the first `count` lanes, of which there is at least one.
__device__ inline u32 first_lanes(u32 count) { return 0xffffffff >> (WARP - count); }

// As warp_tree, over the first `present` lanes, which alone take part. What a shuffle reads from a lane that does not
// take part is undefined; a lane whose partner is missing reads itself, and keeps its value.
template <class Op, class S>
__device__ inline S warp_tree_of(S value, u32 present) {
    if (present == WARP) {
        return warp_tree<Op>(value); // Whole warps do not pay for the others.
    }
    u32 members = first_lanes(present);
#pragma unroll
    for (u32 offset = WARP / 2; offset > 0; offset /= 2) {
        bool has_partner = lane_number() + offset < present;
        S partner = __shfl_down_sync(members, value, has_partner ? offset : 0);
        value = has_partner ? Op::combine(value, partner) : value;
    }
    return value;
}

// Neighbours first: 0 with 1, 2 with 3, then those, over the values of the first COUNT lanes, a power of two.
template <class Op, u32 COUNT = WARP, class S>
__device__ inline S warp_adjacent_tree(S value) {
#pragma unroll
    for (u32 offset = 1; offset < COUNT; offset *= 2) {
        value = Op::combine(value, shuffle_down(value, offset));
    }
    return value;
}
