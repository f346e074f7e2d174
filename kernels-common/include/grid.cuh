// Places in a grid of one-dimensional blocks, in 64 bits: a grid can have more threads than 32 bits count.
#pragma once

#include "types.cuh"

// The number of this block; a grid too long for one dimension goes on in the second.
__device__ inline u64 block_number() { return blockIdx.x + static_cast<u64>(blockIdx.y) * gridDim.x; }
__device__ inline u64 block_count() { return static_cast<u64>(gridDim.x) * gridDim.y; }

// The number of this thread in the whole grid.
__device__ inline u64 thread_number() { return block_number() * blockDim.x + threadIdx.x; }
