// Sums by atomic additions, from one for every element to one for every block. *out is 0 before the launch.
#include "arithmetic.cuh"
#include "atomic.cuh"
#include "convert.cuh"
#include "grid.cuh"
#include "instantiate.cuh"
#include "types.cuh"

// Wrong, to show why: every thread loads *out, adds its element and stores the result. What other threads stored
// between the load and the store is lost. All lanes of a warp load the same value, so that at best one element of 32
// counts.
template <class T>
__device__ inline void racy(const T* x, u64 n, sum_t<T>* out) {
    u64 i = thread_1d();
    if (i < n) {
        *out = add(*out, widen(x[i]));
    }
}

// Right: no other thread can come between the load and the store. But all additions go to one address, one after
// another.
template <class T>
__device__ inline void per_element(const T* x, u64 n, sum_t<T>* out) {
    u64 i = thread_1d();
    if (i < n) {
        atomic_add(out, widen(x[i]));
    }
}

// The sum of `count` elements from `first` on, as far as there are any, by the calling thread alone.
template <class T>
__device__ inline sum_t<T> sum_alone(const T* x, u64 n, u64 first, u32 count) {
    sum_t<T> sum = 0;
    u64 end = n - first < count ? n : first + count;
    for (u64 i = first; i < end; ++i) {
        sum = add(sum, widen(x[i]));
    }
    return sum;
}

// One thread of each warp adds up the warp's elements, as many as it has lanes, while the others idle. There are fewer
// additions to wait for, and the 32 loads of a leader fall into the sectors that its first one brought.
template <class T>
__device__ inline void warp_leader(const T* x, u64 n, sum_t<T>* out) {
    u64 i = thread_1d();
    if (threadIdx.x % warpSize == 0 && i < n) {
        u32 left = blockDim.x - threadIdx.x;
        u32 lanes = static_cast<u32>(warpSize);
        atomic_add(out, sum_alone(x, n, i, left < lanes ? left : lanes));
    }
}

// One thread of each block adds up the block's elements: fewer additions still, but also fewer threads at work.
template <class T>
__device__ inline void block_leader(const T* x, u64 n, sum_t<T>* out) {
    u64 i = thread_1d();
    if (threadIdx.x == 0 && i < n) {
        atomic_add(out, sum_alone(x, n, i, blockDim.x));
    }
}

INSTANTIATE(racy, , (const T* x, u64 n, sum_t<T>* out), (x, n, out))
INSTANTIATE(per_element, , (const T* x, u64 n, sum_t<T>* out), (x, n, out))
INSTANTIATE(warp_leader, , (const T* x, u64 n, sum_t<T>* out), (x, n, out))
INSTANTIATE(block_leader, , (const T* x, u64 n, sum_t<T>* out), (x, n, out))
