// Places in a grid of one-dimensional blocks, in 64 bits: a grid can have more threads than 32 bits count.
#pragma once

#include "types.cuh"

// In a grid of one dimension: the number of this thread, and how many threads there are.
__device__ inline u64 thread_1d() { return static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline u64 threads_1d() { return static_cast<u64>(gridDim.x) * blockDim.x; }

// In a grid of two dimensions, numbered along x first: the number of this block, and of this thread.
__device__ inline u64 block_2d() { return static_cast<u64>(blockIdx.y) * gridDim.x + blockIdx.x; }
__device__ inline u64 thread_2d() { return block_2d() * blockDim.x + threadIdx.x; }
