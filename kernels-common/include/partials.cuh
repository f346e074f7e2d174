// What becomes of the partials of the virtual blocks: the last block of the grid to arrive combines them, adjacently,
// level by level, so that a reduction takes one launch.
#pragma once

#include "arithmetic.cuh"
#include "canonical.cuh"
#include "convert.cuh"
#include "packet.cuh"
#include "types.cuh"
#include "warp.cuh"

// Partials that one thread, and one block, combine in one pass.
constexpr u32 RUN = 8;
constexpr u32 CHUNK = RUN * CANONICAL_THREADS;

// The adjacent tree over the `count` <= CHUNK values at `partials`; the result is in thread 0. Absent ones are neutral
// values. Reads through the second level cache, because other blocks, or this one a pass earlier, wrote them; and in
// whole runs: there has to be memory up to the next multiple of RUN.
template <class Op, class S>
__device__ inline S combine_chunk(const S* partials, u32 count, S (&warp_values)[CANONICAL_THREADS / WARP]) {
    using Vector = typename Carrier<S>::type;
    u32 first = threadIdx.x * RUN;
    const Vector* from = reinterpret_cast<const Vector*>(partials + (first < count ? first : 0));
    S run[RUN];
#pragma unroll
    for (u32 i = 0; i < RUN; i += LANES<S>) {
        Packet<S> packet = Carrier<S>::unpack(__ldcg(from + i / LANES<S>));
#pragma unroll
        for (u32 lane = 0; lane < LANES<S>; ++lane) {
            run[i + lane] = first + i + lane < count ? packet.lane[lane] : Op::template neutral<S>();
        }
    }
#pragma unroll
    for (u32 stride = 1; stride < RUN; stride *= 2) {
#pragma unroll
        for (u32 i = 0; i < RUN; i += 2 * stride) {
            run[i] = Op::combine(run[i], run[i + stride]);
        }
    }
    S value = warp_adjacent_tree<Op>(run[0]);
    if (lane_number() == 0) {
        warp_values[warp_number()] = value;
    }
    __syncthreads();
    constexpr u32 WARPS = CANONICAL_THREADS / WARP;
    if (warp_number() == 0) {
        value = warp_adjacent_tree<Op, WARPS>(warp_values[lane_number() % WARPS]);
    }
    return value;
}

// Combines any number of partials with the threads of one block, in place; the result is in thread 0.
template <class Op, class S>
__device__ inline S combine_partials(S* partials, u64 count) {
    __shared__ S warp_values[CANONICAL_THREADS / WARP];
    for (;;) {
        u64 chunks = (count + CHUNK - 1) / CHUNK;
        for (u64 chunk = 0; chunk < chunks; ++chunk) {
            u64 left = count - chunk * CHUNK;
            u32 here = left < CHUNK ? static_cast<u32>(left) : CHUNK;
            S value = combine_chunk<Op>(partials + chunk * CHUNK, here, warp_values);
            if (chunks == 1) {
                return value;
            }
            // Chunk c is read by now, and c <= c * CHUNK: nothing that is still to be read is overwritten.
            if (threadIdx.x == 0) {
                partials[chunk] = value;
            }
            __syncthreads(); // Before the warps' values, and in the next pass the partials, are used again.
        }
        count = chunks;
    }
}

// Whether this block is the last of the grid to arrive here. What thread 0 of every block wrote before, the last block
// may read after. The counter has to be 0 before the launch, and is 0 again after it.
__device__ inline bool is_last_block(u32* counter) {
    __shared__ u32 arrived_before;
    if (threadIdx.x == 0) {
        __threadfence(); // Publishes this block's partials before the counter says so.
        arrived_before = atomicInc(counter, gridDim.x - 1);
        __threadfence(); // Nothing that follows is read before the counter said so.
    }
    __syncthreads();
    return arrived_before == gridDim.x - 1;
}

// The end of a reduction in one launch: the last block to arrive combines all partials and stores the result.
template <class Op, class S, class R>
__device__ inline void finish_in_last_block(S* partials, u64 count, u32* counter, R* out) {
    if (is_last_block(counter)) {
        S value = combine_partials<Op>(partials, count);
        if (threadIdx.x == 0) {
            store_result(out, value);
        }
    }
}
