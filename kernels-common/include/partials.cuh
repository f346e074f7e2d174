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

// The adjacent tree over the `count` values at `partials` that the calling threads' runs hold, for each warp by itself;
// the result is in lane 0. Absent ones are neutral values. Reads through the second level cache, because other blocks,
// or this one a pass earlier, wrote them; and in whole runs: there has to be memory up to the next multiple of RUN.
template <class Op, class S>
__device__ inline S combine_runs(const S* partials, u32 count) {
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
    return warp_adjacent_tree<Op>(combine_lanes<Op>(run));
}

// The same for all threads of a block, with `count` <= CHUNK; the result is in thread 0.
template <class Op, class S>
__device__ inline S combine_chunk(const S* partials, u32 count, S (&warp_values)[CANONICAL_THREADS / WARP]) {
    S value = combine_runs<Op>(partials, count);
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
__device__ inline S combine_partials(S* partials, u32 count) {
    __shared__ S warp_values[CANONICAL_THREADS / WARP];
    for (;;) {
        u32 chunks = (count - 1) / CHUNK + 1;
        for (u32 chunk = 0; chunk < chunks; ++chunk) {
            u32 here = min(count - chunk * CHUNK, CHUNK);
            S value = combine_chunk<Op>(partials + static_cast<u64>(chunk) * CHUNK, here, warp_values);
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

// Counts the calling thread's block as finished: whether it is the last of the grid. What the threads that call this,
// or that they have met at a barrier, wrote before, the one in the last block may read after. The counter has to be 0
// before the launch, and is 0 again after it.
__device__ inline bool arrive_last(u32* counter) {
    // One instruction that releases what came before and acquires what others released.
    u32 before;
    asm volatile("atom.acq_rel.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(gridDim.x - 1) : "memory");
    return before == gridDim.x - 1;
}

// The end of a reduction in one launch: the last block to arrive combines all partials, which the threads 0 have
// written, and stores the result. Any number of them will do.
template <class Op, class S, class R>
__device__ inline void finish_many_in_last_block(S* partials, u32 count, u32* counter, R* out) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        last = arrive_last(counter);
    }
    __syncthreads();
    if (last) {
        S value = combine_partials<Op>(partials, count);
        if (threadIdx.x == 0) {
            store_result(out, value);
        }
    }
}

// The same, sooner for few partials.
template <class Op, class S, class R>
__device__ inline void finish_in_last_block(S* partials, u32 count, u32* counter, R* out) {
    // Partials that one warp can hold are combined by one warp: the others need not wait for it, nor it for them.
    if (count <= WARP * RUN) {
        if (warp_number() == 0) {
            bool last = lane_number() == 0 && arrive_last(counter);
            last = __shfl_sync(0xffffffff, last, 0);
            __syncwarp(); // What lane 0 may read, all may.
            if (last) {
                S value = combine_runs<Op>(partials, count);
                if (lane_number() == 0) {
                    store_result(out, value);
                }
            }
        }
        return;
    }
    finish_many_in_last_block<Op>(partials, count, counter, out);
}
