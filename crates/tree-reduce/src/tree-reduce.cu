// Sums by trees in shared memory: a block adds up its elements pair by pair, and one thread adds the block's sum to
// *out, which is 0 before the launch. Each kernel mends what is slow in the one before.
#include "arithmetic.cuh"
#include "atomic.cuh"
#include "convert.cuh"
#include "grid.cuh"
#include "instantiate.cuh"
#include "shared.cuh"
#include "types.cuh"

// The element at i, or 0 past the end.
template <class T>
__device__ inline sum_t<T> element(const T* x, u64 n, u64 i) {
    return i < n ? widen(x[i]) : sum_t<T>(0);
}

// Two elements of the calling thread, a block's width apart, so that neighbours read neighbours; added.
template <class T>
__device__ inline sum_t<T> two_elements(const T* x, u64 n) {
    u64 i = 2 * static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
    return add(element(x, n, i), element(x, n, i + blockDim.x));
}

// Puts the value of every thread into shared memory, where the others see it.
template <class S>
__device__ inline S* share(S value) {
    S* s = dynamic_shared<S>();
    s[threadIdx.x] = value;
    __syncthreads();
    return s;
}

// Adds the block's sum to the result.
template <class S>
__device__ inline void add_to_result(const S* s, S* out) {
    if (threadIdx.x == 0) {
        atomic_add(out, s[0]);
    }
}

// The first stride of a halving tree over `count` values: half of the next power of two, 0 for one value.
__device__ inline u32 first_stride(u32 count) { return count > 1 ? 1u << (31 - __clz(count - 1)) : 0; }

// A tree whose stride halves, over s[0] to s[blockDim.x - 1], as long as the stride is `last` or more.
template <class S>
__device__ inline void halve(S* s, u32 last) {
    u32 t = threadIdx.x;
    for (u32 stride = first_stride(blockDim.x); stride >= last; stride /= 2) {
        if (t < stride && t + stride < blockDim.x) {
            s[t] = add(s[t], s[t + stride]);
        }
        __syncthreads();
    }
}

// The obvious tree: 0 takes in 1, 2 takes in 3, then 0 takes in 2, and so on. Half of the lanes of every warp are idle
// in the first round, three quarters in the second, but all warps have to run it; and a modulo is slow.
template <class T>
__device__ inline void tree_interleaved(const T* x, u64 n, sum_t<T>* out) {
    sum_t<T>* s = share(element(x, n, thread_1d()));
    u32 t = threadIdx.x;
    for (u32 stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0 && t + stride < blockDim.x) {
            s[t] = add(s[t], s[t + stride]);
        }
        __syncthreads();
    }
    add_to_result(s, out);
}

// The same additions by the first threads of the block: those at work are neighbours, and whole warps are done early.
// But now the lanes of a warp touch every second word, every fourth, ...: several words of one bank, one after another.
template <class T>
__device__ inline void tree_strided(const T* x, u64 n, sum_t<T>* out) {
    sum_t<T>* s = share(element(x, n, thread_1d()));
    for (u32 stride = 1; stride < blockDim.x; stride *= 2) {
        u32 i = 2 * stride * threadIdx.x;
        if (i + stride < blockDim.x) {
            s[i] = add(s[i], s[i + stride]);
        }
        __syncthreads();
    }
    add_to_result(s, out);
}

// Other pairs: each thread of the first half takes in its counterpart of the second. Neighbours touch neighbours, in
// 32 different banks.
template <class T>
__device__ inline void tree_sequential(const T* x, u64 n, sum_t<T>* out) {
    sum_t<T>* s = share(element(x, n, thread_1d()));
    halve(s, 1);
    add_to_result(s, out);
}

// Folded at the midpoint: the first takes in the last, the second the one before that. A warp reads backwards, still
// from 32 different banks. It suits any number of threads: the middle one of an odd number waits.
template <class T>
__device__ inline void tree_mirrored(const T* x, u64 n, sum_t<T>* out) {
    sum_t<T>* s = share(element(x, n, thread_1d()));
    u32 t = threadIdx.x;
    for (u32 count = blockDim.x; count > 1; count = (count + 1) / 2) {
        if (t < count / 2) {
            s[t] = add(s[t], s[count - 1 - t]);
        }
        __syncthreads();
    }
    add_to_result(s, out);
}

// In the trees above half of the threads do nothing but load one element. Here each loads two and adds them on the way:
// half as many blocks, and half as many trees.
template <class T>
__device__ inline void tree_first_add(const T* x, u64 n, sum_t<T>* out) {
    sum_t<T>* s = share(two_elements(x, n));
    halve(s, 1);
    add_to_result(s, out);
}

// From 32 values on one warp works alone: its five rounds are written out, without the block's barrier, which the other
// warps would have to wait at. For blocks of at least two warps.
template <class T>
__device__ inline void tree_unrolled_warp(const T* x, u64 n, sum_t<T>* out) {
    sum_t<T>* s = share(two_elements(x, n));
    halve(s, WARP);
    if (threadIdx.x < WARP) {
        sum_t<T> sum = last_warp_tree<2 * WARP>(s);
        if (threadIdx.x == 0) {
            atomic_add(out, sum);
        }
    }
}

// With the number of threads known to the compiler no loop is left: no stride to compute, no bound to compare.
template <u32 BLOCK, class T>
__device__ inline void tree_unrolled(const T* x, u64 n, sum_t<T>* out) {
    sum_t<T> sum = shared_tree<BLOCK>(two_elements(x, n));
    if (threadIdx.x == 0) {
        atomic_add(out, sum);
    }
}

INSTANTIATE(tree_interleaved, __launch_bounds__(1024), (const T* x, u64 n, sum_t<T>* out), (x, n, out))
INSTANTIATE(tree_strided, __launch_bounds__(1024), (const T* x, u64 n, sum_t<T>* out), (x, n, out))
INSTANTIATE(tree_sequential, __launch_bounds__(1024), (const T* x, u64 n, sum_t<T>* out), (x, n, out))
INSTANTIATE(tree_mirrored, __launch_bounds__(1024), (const T* x, u64 n, sum_t<T>* out), (x, n, out))
INSTANTIATE(tree_first_add, __launch_bounds__(1024), (const T* x, u64 n, sum_t<T>* out), (x, n, out))
INSTANTIATE(tree_unrolled_warp, __launch_bounds__(1024), (const T* x, u64 n, sum_t<T>* out), (x, n, out))

// tree_unrolled_256_f32 and so on.
#define INSTANTIATE_UNROLLED(BLOCK)                                                                                    \
    template <class T>                                                                                                 \
    __device__ inline void tree_unrolled_##BLOCK(const T* x, u64 n, sum_t<T>* out) {                                   \
        tree_unrolled<BLOCK>(x, n, out);                                                                               \
    }                                                                                                                  \
    INSTANTIATE(tree_unrolled_##BLOCK, __launch_bounds__(BLOCK), (const T* x, u64 n, sum_t<T>* out), (x, n, out))

INSTANTIATE_UNROLLED(1)
INSTANTIATE_UNROLLED(2)
INSTANTIATE_UNROLLED(4)
INSTANTIATE_UNROLLED(8)
INSTANTIATE_UNROLLED(16)
INSTANTIATE_UNROLLED(32)
INSTANTIATE_UNROLLED(64)
INSTANTIATE_UNROLLED(128)
INSTANTIATE_UNROLLED(256)
INSTANTIATE_UNROLLED(512)
INSTANTIATE_UNROLLED(1024)
