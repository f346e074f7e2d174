// Sums that many threads add to at once.
#pragma once

#include "types.cuh"

// *sum += value, in one step that no other thread can come between. In which order the threads do it is left to chance,
// so that a floating-point sum can have other bits at every run.
__device__ inline void atomic_add(f32* sum, f32 value) { atomicAdd(sum, value); }
__device__ inline void atomic_add(f64* sum, f64 value) { atomicAdd(sum, value); }
__device__ inline void atomic_add(u64* sum, u64 value) { atomicAdd(sum, value); }
// Two's complement adds like the unsigned number of the same bits.
__device__ inline void atomic_add(i64* sum, i64 value) {
    atomicAdd(reinterpret_cast<u64*>(sum), static_cast<u64>(value));
}
