// The canonical order: the one order in which a reduction combines its elements, on every device.
//
// The elements are cut, from the start of the slice, into packets of 16 bytes, L lanes each, and into virtual blocks of V
// elements; V depends on the number and type of the elements alone. Inside a virtual block thread t of 512 takes the
// packets t, t + 512, ... with one accumulator per lane, which starts at the identity. Then lanes combine pairwise (0 with
// 1, 2 with 3, then those), the lanes of a warp with offsets 16, 8, 4, 2, 1, and the 16 warps with offsets 8, 4, 2, 1. The
// partials of the virtual blocks combine adjacently, level by level: 2i with 2i + 1, an odd last one passes unchanged.
// Absent elements and absent partials are skipped: combining with an identity could still change a -0.
//
// How many real blocks walk the virtual ones, and how a packet is loaded, is free: neither changes which two values meet.
//
// A reduction supplies
//   Op     identity<S>() and combine(a, b), such as Plus;
//   Terms  what is taken in. Copyable, points at the packet of its thread, and has
//            Sum, LANES      the accumulator type and the number of lanes L;
//            IN_FLIGHT       the packets to load before the first is taken in;
//            Batch           registers for what one packet of each input holds;
//            load(p)         the batch p packets further on;
//            take(sums, b)   one batch into the L accumulators;
//            take_lane(sum, lane)   one lane of the packet here into its accumulator;
//            advance(p)      moves on by p packets.
#pragma once

#include "arithmetic.cuh"
#include "block.cuh"
#include "types.cuh"
#include "warp.cuh"

constexpr u32 CANONICAL_THREADS = 512;

// The accumulators of the calling thread after its share of a virtual block of `elements` elements; the terms point at
// the thread's first packet.
template <class Op, class Terms>
__device__ inline void take_virtual_block(Terms terms, u32 elements, typename Terms::Sum (&sums)[Terms::LANES]) {
#pragma unroll
    for (auto& sum : sums) {
        sum = Op::template identity<typename Terms::Sum>();
    }
    constexpr i32 STEP = CANONICAL_THREADS;
    constexpr i32 AHEAD = Terms::IN_FLIGHT;
    // Whole packets from the thread's next one to the end of the virtual block.
    i32 left = static_cast<i32>(elements / Terms::LANES) - static_cast<i32>(threadIdx.x);
    // Not unrolled further: more loads in flight would cost registers that other blocks need.
#pragma unroll 1
    for (; left > (AHEAD - 1) * STEP; left -= AHEAD * STEP) {
        typename Terms::Batch batches[AHEAD];
#pragma unroll
        for (i32 ahead = 0; ahead < AHEAD; ++ahead) {
            batches[ahead] = terms.load(ahead * STEP);
        }
#pragma unroll
        for (i32 ahead = 0; ahead < AHEAD; ++ahead) {
            terms.take(sums, batches[ahead]);
        }
        terms.advance(AHEAD * STEP);
    }
    if constexpr (AHEAD > 1) {
#pragma unroll 1
        for (; left > 0; left -= STEP) {
            terms.take(sums, terms.load(0));
            terms.advance(STEP);
        }
    }
    // The thread whose next packet is the last of the slice and lacks lanes takes those there are.
    if (left == 0) {
#pragma unroll
        for (u32 lane = 0; lane < Terms::LANES; ++lane) {
            if (lane < elements % Terms::LANES) {
                terms.take_lane(sums[lane], lane);
            }
        }
    }
}

// Pairwise over lanes: 0 with 1, 2 with 3, then those.
template <class Op, u32 LANES, class S>
__device__ inline S combine_lanes(S (&sums)[LANES]) {
#pragma unroll
    for (u32 stride = 1; stride < LANES; stride *= 2) {
#pragma unroll
        for (u32 lane = 0; lane < LANES; lane += 2 * stride) {
            sums[lane] = Op::combine(sums[lane], sums[lane + stride]);
        }
    }
    return sums[0];
}

// How many virtual blocks n elements have. No elements are one empty virtual block, whose value is the identity.
__device__ inline u64 count_virtual_blocks(u64 n, u32 log2_v) {
    return n == 0 ? 1 : ((n - 1) >> log2_v) + 1;
}

// Reduces the virtual blocks b, b + gridDim.x, ... of this block b to values[b], values[b + gridDim.x], ... `terms`
// points at the first packet of the slice. Thread 0 does the writing.
template <class Op, class Terms>
__device__ inline void reduce_virtual_blocks(Terms terms, u64 n, u32 log2_v, typename Terms::Sum* values) {
    using S = typename Terms::Sum;
    // Two sets in turn, so that one barrier per virtual block is enough: whoever fills a set again has passed the barrier
    // that follows its last use.
    __shared__ S warp_values[2][CANONICAL_THREADS / WARP];
    u32 turn = 0;
    u64 v = 1ull << log2_v;
    u64 blocks = count_virtual_blocks(n, log2_v);
    terms.advance((static_cast<u64>(blockIdx.x) << log2_v) / Terms::LANES + threadIdx.x);
    for (u64 block = blockIdx.x; block < blocks; block += gridDim.x) {
        u64 left = n - (block << log2_v);
        S sums[Terms::LANES];
        take_virtual_block<Op>(terms, static_cast<u32>(left < v ? left : v), sums);
        S value = block_tree<Op, CANONICAL_THREADS>(combine_lanes<Op>(sums), warp_values[turn]);
        if (threadIdx.x == 0) {
            values[block] = normalised(value);
        }
        turn ^= 1;
        terms.advance((static_cast<u64>(gridDim.x) << log2_v) / Terms::LANES);
    }
}

// Partials that one thread, and one block, combine in one pass.
constexpr u32 RUN = 8;
constexpr u32 CHUNK = RUN * CANONICAL_THREADS;

// The adjacent tree over the `count` <= CHUNK values at `partials`; the result is in thread 0. Reads through the second
// level cache, because other blocks, or this one a pass earlier, wrote them.
template <class Op, class S>
__device__ inline S combine_chunk(const S* partials, u32 count, S (&warp_values)[CANONICAL_THREADS / WARP]) {
    u32 first = threadIdx.x * RUN;
    S run[RUN];
#pragma unroll
    for (u32 i = 0; i < RUN; ++i) {
        run[i] = first + i < count ? __ldcg(partials + first + i) : Op::template identity<S>();
    }
#pragma unroll
    for (u32 stride = 1; stride < RUN; stride *= 2) {
#pragma unroll
        for (u32 i = 0; i < RUN; i += 2 * stride) {
            if (first + i + stride < count) {
                run[i] = Op::combine(run[i], run[i + stride]);
            }
        }
    }
    u32 runs = (count + RUN - 1) / RUN;
    u32 runs_below = warp_number() * WARP;
    S value = warp_adjacent_tree<Op>(run[0], runs > runs_below ? runs - runs_below : 0);
    if (lane_number() == 0) {
        warp_values[warp_number()] = value;
    }
    __syncthreads();
    if (warp_number() == 0) {
        u32 warps = (runs + WARP - 1) / WARP;
        value = lane_number() < warps ? warp_values[lane_number()] : Op::template identity<S>();
        value = warp_adjacent_tree<Op>(value, warps);
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
template <class Op, class S>
__device__ inline void finish_in_last_block(S* partials, u64 count, u32* counter, S* out) {
    if (is_last_block(counter)) {
        S value = combine_partials<Op>(partials, count);
        if (threadIdx.x == 0) {
            *out = normalised(value);
        }
    }
}
