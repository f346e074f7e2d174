// Reductions of one slice in one launch, in canonical order: real blocks walk the virtual ones, and the last block to
// finish combines their partials. What a block does, and what the last one does, are in canonical.cuh and partials.cuh.
#include "arithmetic.cuh"
#include "canonical.cuh"
#include "convert.cuh"
#include "instantiate.cuh"
#include "packet.cuh"
#include "partials.cuh"
#include "types.cuh"

// The elements of a slice as terms of a canonical reduction.
template <class T, class Loads, class Op>
struct Elements {
    using Sum = sum_t<T>;
    static constexpr u32 LANES = ::LANES<T>;
    static constexpr i32 IN_FLIGHT = Loads::template IN_FLIGHT<T>;
    using Batch = Packet<T>;

    const T* x;

    __device__ Batch load(i32 packets) const { return Loads::load(x + packets * static_cast<i32>(LANES)); }
    __device__ static void take(Sum (&sums)[LANES], const Batch& batch) {
#pragma unroll
        for (u32 lane = 0; lane < LANES; ++lane) {
            sums[lane] = Op::combine(sums[lane], widen(batch.lane[lane]));
        }
    }
    __device__ void take_lane(Sum& sum, u32 lane) const { sum = Op::combine(sum, widen(x[lane])); }
    __device__ void advance(i64 packets) { x += packets * static_cast<i64>(LANES); }
};

// *out is the reduction of n elements, in `blocks` virtual blocks of 2^log2_v elements. The grid is one-dimensional, of
// at most so many blocks. `partials` has room for one value of each virtual block, up to a multiple of RUN and written
// before, and the counter is 0 before and after; with one virtual block neither is touched.
template <class Op, class Loads, class T, class R>
__device__ inline void reduce(const T* x, u64 n, u32 log2_v, u32 blocks, sum_t<T>* partials, u32* counter, R* out) {
    reduce_virtual_blocks<Op>(Elements<T, Loads, Op>{x}, n, log2_v, blocks, partials, out);
    if (blocks > 1) {
        finish_in_last_block<Op>(partials, blocks, counter, out);
    }
}

// A kernel: its name, its operation, how it loads, and the type of its result.
#define REDUCTION_BY(kernel, Op, Loads, R)                                                                             \
    template <class T>                                                                                                 \
    __device__ inline void kernel(const T* x, u64 n, u32 log2_v, u32 blocks, sum_t<T>* partials, u32* counter,         \
                                  R* out) {                                                                            \
        reduce<Op, Loads>(x, n, log2_v, blocks, partials, counter, out);                                               \
    }                                                                                                                  \
    INSTANTIATE(kernel, __launch_bounds__(CANONICAL_THREADS, 2),                                                       \
                (const T* x, u64 n, u32 log2_v, u32 blocks, sum_t<T>* partials, u32* counter, R* out),                 \
                (x, n, log2_v, blocks, partials, counter, out))

// Two kernels for each operation, so that only the one that is needed has to be compiled when it is loaded: for slices
// that start at a multiple of 16 bytes, and for any.
#define REDUCTION(kernel, Op, R)                                                                                       \
    REDUCTION_BY(kernel, Op, Whole, R)                                                                                 \
    REDUCTION_BY(kernel##_misaligned, Op, LaneByLane, R)

REDUCTION(single_pass_sum, Plus, sum_t<T>)
REDUCTION(single_pass_product, Product, sum_t<T>)
REDUCTION(single_pass_minimum, Minimum<T>, T)
REDUCTION(single_pass_maximum, Maximum<T>, T)
