// What the kernels of this crate share: the elements that they reduce, and their parameters.
#pragma once

#include "arithmetic.cuh"
#include "canonical.cuh"
#include "convert.cuh"
#include "instantiate.cuh"
#include "packet.cuh"
#include "types.cuh"

// The elements of a slice as terms of a canonical reduction.
template <class T, class Loads, class Op>
struct Elements {
    using Sum = sum_t<T>;
    static constexpr u32 LANES = ::LANES<T>;
    static constexpr i32 IN_FLIGHT = Loads::template IN_FLIGHT<T, 1>;
    static constexpr bool REACHES = Loads::REACHES;
    using Batch = typename Loads::template Loaded<T>;

    const T* x;

    __device__ Elements at(const void* packet) const { return {static_cast<const T*>(packet)}; }
    __device__ Batch load(i32 packets) const { return Loads::load(x + packets * static_cast<i32>(LANES)); }
    __device__ void take(Sum (&sums)[LANES], const Batch& batch) const {
        Packet<T> packet = Loads::packet(batch, x);
#pragma unroll
        for (u32 lane = 0; lane < LANES; ++lane) {
            sums[lane] = Op::combine(sums[lane], widen(packet.lane[lane]));
        }
    }
    __device__ void take_lane(Sum& sum, u32 lane) const { sum = Op::combine(sum, widen(x[lane])); }
    __device__ void advance(i64 packets) { x += packets * static_cast<i64>(LANES); }
};

// A kernel: its name, the blocks that a multiprocessor is to hold at once, the type of its result, and the function that
// it is, for the elements T.
//
// *out is the reduction of n elements, in `blocks` virtual blocks of 2^log2_v elements. The grid is one-dimensional, of
// at most so many blocks. `partials` has room for one value of each virtual block, up to a multiple of RUN and written
// before, and the counter is 0 before and after; with one virtual block neither is touched.
#define REDUCTION_BY(kernel, resident, R, ...)                                                                         \
    template <class T>                                                                                                 \
    __device__ inline void kernel(const T* x, u64 n, u32 log2_v, u32 blocks, sum_t<T>* partials, u32* counter,         \
                                  R* out) {                                                                            \
        __VA_ARGS__(x, n, log2_v, blocks, partials, counter, out);                                                     \
    }                                                                                                                  \
    INSTANTIATE(kernel, __launch_bounds__(CANONICAL_THREADS, resident),                                                \
                (const T* x, u64 n, u32 log2_v, u32 blocks, sum_t<T>* partials, u32* counter, R* out),                 \
                (x, n, log2_v, blocks, partials, counter, out))
