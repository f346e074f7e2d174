// Dot products: the sum of x[i] * y[i], in the type of the sum.
#include "arithmetic.cuh"
#include "canonical.cuh"
#include "convert.cuh"
#include "grid.cuh"
#include "instantiate.cuh"
#include "packet.cuh"
#include "partials.cuh"
#include "shared.cuh"
#include "stride.cuh"
#include "types.cuh"

// Three launches. Each of the first two leaves one partial for every 256 values, the third adds up what is left.
//
// Blocks form a two-dimensional grid, numbered along x first; a square grid may have more blocks than there are
// partials.

constexpr u32 STAGE_THREADS = 256;
constexpr u32 LAST_STAGE_THREADS = 128;

// partials[b] is the dot product of elements 256 b to 256 b + 255.
template <class T>
__device__ inline void dot_stage1(const T* x, const T* y, u64 n, sum_t<T>* partials) {
    u64 block = block_2d();
    if (block * STAGE_THREADS >= n) {
        return;
    }
    u64 i = block * STAGE_THREADS + threadIdx.x;
    sum_t<T> sum = shared_tree<STAGE_THREADS>(i < n ? multiply(widen(x[i]), widen(y[i])) : sum_t<T>(0));
    if (threadIdx.x == 0) {
        partials[block] = sum;
    }
}

// sums[b] is the sum of values 256 b to 256 b + 255.
template <class S>
__device__ inline void dot_stage2(const S* values, u64 count, S* sums) {
    u64 block = block_2d();
    if (block * STAGE_THREADS >= count) {
        return;
    }
    u64 i = block * STAGE_THREADS + threadIdx.x;
    S sum = shared_tree<STAGE_THREADS>(i < count ? values[i] : S(0));
    if (threadIdx.x == 0) {
        sums[block] = sum;
    }
}

// The sum of any number of values, by one block.
template <class S>
__device__ inline void dot_stage3(const S* values, u64 count, S* out) {
    S sum = strided_sum(values, count, threadIdx.x, LAST_STAGE_THREADS);
    sum = shared_tree<LAST_STAGE_THREADS>(sum);
    if (threadIdx.x == 0) {
        *out = normalised(sum);
    }
}

INSTANTIATE(dot_stage1, __launch_bounds__(STAGE_THREADS), (const T* x, const T* y, u64 n, sum_t<T>* partials),
            (x, y, n, partials))
INSTANTIATE_SUMS(dot_stage2, __launch_bounds__(STAGE_THREADS), (const T* values, u64 count, T* sums),
                 (values, count, sums))
INSTANTIATE_SUMS(dot_stage3, __launch_bounds__(LAST_STAGE_THREADS), (const T* values, u64 count, T* out),
                 (values, count, out))

// One launch, in canonical order.

// The products of two slices as terms of a canonical sum: one fused multiply-add per element, rounded once.
template <class T, class Loads>
struct Products {
    using Sum = sum_t<T>;
    static constexpr u32 LANES = ::LANES<T>;
    static constexpr i32 IN_FLIGHT = Loads::template IN_FLIGHT<T, 2>;
    static constexpr bool REACHES = Loads::REACHES;
    struct Batch {
        typename Loads::template Loaded<T> x;
        typename Loads::template Loaded<T> y;
    };

    const T* x;
    const T* y;

    __device__ Batch load(i32 packets) const {
        return {Loads::load(x + packets * static_cast<i32>(LANES)), Loads::load(y + packets * static_cast<i32>(LANES))};
    }
    __device__ void take(Sum (&sums)[LANES], const Batch& batch) const {
        Packet<T> here = Loads::packet(batch.x, x), there = Loads::packet(batch.y, y);
#pragma unroll
        for (u32 lane = 0; lane < LANES; ++lane) {
            sums[lane] = fused_add(sums[lane], widen(here.lane[lane]), widen(there.lane[lane]));
        }
    }
    __device__ void take_lane(Sum& sum, u32 lane) const { sum = fused_add(sum, widen(x[lane]), widen(y[lane])); }
    __device__ void advance(i64 packets) {
        x += packets * static_cast<i64>(LANES);
        y += packets * static_cast<i64>(LANES);
    }
};

// *out is the dot product of n elements, in `blocks` virtual blocks of 2^log2_v elements. The grid is one-dimensional,
// of at most so many blocks. `partials` has room for one value of each virtual block, up to a multiple of RUN and
// written before, and the counter is 0 before and after; with one virtual block neither is touched.
template <class Loads, class T>
__device__ inline void canonical_dot(const T* x, const T* y, u64 n, u32 log2_v, u32 blocks, sum_t<T>* partials,
                                     u32* counter, sum_t<T>* out) {
    reduce_virtual_blocks<Plus>(Products<T, Loads>{x, y}, n, log2_v, blocks, partials, out);
    if (blocks > 1) {
        finish_in_last_block<Plus>(partials, blocks, counter, out);
    }
}

// Two kernels, so that only the one that is needed has to be compiled when it is loaded: for x and y that both start at
// a multiple of 16 bytes, and for any.
template <class T>
__device__ inline void dot(const T* x, const T* y, u64 n, u32 log2_v, u32 blocks, sum_t<T>* partials, u32* counter,
                           sum_t<T>* out) {
    canonical_dot<Whole>(x, y, n, log2_v, blocks, partials, counter, out);
}
template <class T>
__device__ inline void dot_misaligned(const T* x, const T* y, u64 n, u32 log2_v, u32 blocks, sum_t<T>* partials,
                                      u32* counter, sum_t<T>* out) {
    canonical_dot<Shifted>(x, y, n, log2_v, blocks, partials, counter, out);
}

INSTANTIATE(dot, __launch_bounds__(CANONICAL_THREADS, 2),
            (const T* x, const T* y, u64 n, u32 log2_v, u32 blocks, sum_t<T>* partials, u32* counter, sum_t<T>* out),
            (x, y, n, log2_v, blocks, partials, counter, out))
INSTANTIATE(dot_misaligned, __launch_bounds__(CANONICAL_THREADS, 2),
            (const T* x, const T* y, u64 n, u32 log2_v, u32 blocks, sum_t<T>* partials, u32* counter, sum_t<T>* out),
            (x, y, n, log2_v, blocks, partials, counter, out))
