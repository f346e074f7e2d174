// The canonical order: the one order in which a reduction combines its elements, on every device.
//
// The elements are cut, from the start of the slice, into packets of 16 bytes, L lanes each, and into virtual blocks of
// V elements; V depends on the number and type of the elements alone. Inside a virtual block thread t of 512 takes the
// packets t, t + 512, ... with one accumulator per lane, which starts at the identity. Then lanes combine pairwise (0
// with 1, 2 with 3, then those), the lanes of a warp with offsets 16, 8, 4, 2, 1, and the 16 warps with offsets 8, 4,
// 2, 1. The partials of the virtual blocks combine adjacently, level by level: 2i with 2i + 1, an odd last one passes
// unchanged. Absent elements are skipped, since combining with an identity could still change a -0; absent partials may
// be neutral values, which change nothing.
//
// How many real blocks walk the virtual ones, and how a packet is loaded, is free: neither changes which two values
// meet.
//
// A reduction supplies
//   Op     identity<S>(), neutral<S>() and combine(a, b), such as Plus;
//   Terms  what is taken in. Copyable, points at the packet of its thread, and has
//            Sum, LANES      the accumulator type and the number of lanes L;
//            IN_FLIGHT       the packets to load before the first is taken in;
//            REACHES         whether loading reaches beyond the packet, and so must not be done at the ends of a slice;
//            Batch           registers for what one packet of each input holds;
//            load(p)         the batch p packets further on;
//            take(sums, b)   one batch into the L accumulators;
//            take_lane(sum, lane)   one lane of the packet here into its accumulator;
//            advance(p)      moves on by p packets, or back by -p.
#pragma once

#include "arithmetic.cuh"
#include "block.cuh"
#include "convert.cuh"
#include "dependency.cuh"
#include "types.cuh"
#include "warp.cuh"

constexpr u32 CANONICAL_THREADS = 512;

// Takes in the thread's next ROWS packets, or as many as there are. All of them are loaded before the first is used.
// `left` is as in take_virtual_block.
template <i32 ROWS, class Terms>
__device__ inline void take_rows(const Terms& terms, i32 left, typename Terms::Sum (&sums)[Terms::LANES]) {
    constexpr i32 STEP = CANONICAL_THREADS;
    typename Terms::Batch batches[ROWS];
#pragma unroll
    for (i32 row = 0; row < ROWS; ++row) {
        if (left > row * STEP) {
            batches[row] = terms.load(row * STEP);
        }
    }
#pragma unroll
    for (i32 row = 0; row < ROWS; ++row) {
        if (left > row * STEP) {
            terms.take(sums, batches[row]);
        }
    }
}

// Takes in `count` lanes of the packet at which the terms point.
template <class Terms>
__device__ inline void take_lanes(const Terms& terms, u32 count, typename Terms::Sum (&sums)[Terms::LANES]) {
#pragma unroll
    for (u32 lane = 0; lane < Terms::LANES; ++lane) {
        if (lane < count) {
            terms.take_lane(sums[lane], lane);
        }
    }
}

// Takes in the calling thread's share of virtual blocks, by loads from global memory to registers.
struct FromMemory {
    // Of one of `elements` elements; the terms point at the thread's first packet.
    template <class Terms>
    __device__ void take(Terms terms, u32 elements, typename Terms::Sum (&sums)[Terms::LANES]) {
        // Whole packets from the thread's next one to the end of the virtual block; the thread takes every 512th. What
        // is left of the last packet, the thread whose turn it is takes in lane by lane.
        if constexpr (!Terms::REACHES) {
            i32 left = static_cast<i32>(elements / Terms::LANES) - static_cast<i32>(threadIdx.x);
            take_packets(terms, left, sums);
            // The last packet lies where the others end, which the thread has passed or just reached.
            if (elements % Terms::LANES != 0 && left % STEP == 0) {
                terms.advance(left);
                take_lanes(terms, elements % Terms::LANES, sums);
            }
        } else {
            // The same, but the first packet and the last whole one are left to be taken in lane by lane, too. One loop,
            // so that the lanes of all are one piece of code.
            u32 packets = max(elements / Terms::LANES, 1u) - 1;
            u32 behind = elements - packets * Terms::LANES; // Elements of one packet, or of two.
            i32 left = static_cast<i32>(packets) - static_cast<i32>(threadIdx.x);
            u32 lanes = threadIdx.x == 0 && packets != 0 ? Terms::LANES : 0;
            i32 first = lanes != 0 ? STEP : 0;
#pragma unroll 1
            for (bool last = false;; last = true) {
                take_lanes(terms, lanes, sums);
                if (last) {
                    break;
                }
                terms.advance(first);
                left -= first;
                take_packets(terms, left, sums);
                bool second = (left + 1) % STEP == 0;
                lanes = min(behind, Terms::LANES);
                lanes = second ? behind - lanes : left % STEP == 0 ? lanes : 0;
                terms.advance(second ? left + 1 : left);
            }
        }
    }

  private:
    static constexpr i32 STEP = CANONICAL_THREADS;

    // Takes in every 512th of the `left` packets from the thread's next one on, and moves past them.
    template <class Terms>
    __device__ static void take_packets(Terms& terms, i32& left, typename Terms::Sum (&sums)[Terms::LANES]) {
        constexpr i32 ROWS = Terms::IN_FLIGHT;
        // Not unrolled further: more loads in flight would cost registers that other blocks need. And one loop for
        // whole and short virtual blocks: the driver compiles it while a program waits.
#pragma unroll 1
        for (; left > 0; left -= ROWS * STEP) {
            take_rows<ROWS>(terms, left, sums);
            terms.advance(ROWS * STEP);
        }
    }
};

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

// Reduces the virtual blocks b, b + gridDim.x, ... of this block b to partials[b], partials[b + gridDim.x], ...; if
// there is but one virtual block, it is the result and goes to *out. There are `blocks` virtual blocks, at least one
// (that of no elements is empty, and its value the identity), and no more blocks in the grid. `terms` points at the
// first packet of the slice. `source` takes the elements in, as FromMemory does. Thread 0 does the writing.
//
// Numbers of virtual blocks, and of elements in one, have 32 bits: the fewest instructions before the first load.
template <class Op, class Source, class Terms, class R>
__device__ inline void walk_virtual_blocks(Source& source, Terms terms, u64 n, u32 log2_v, u32 blocks,
                                           typename Terms::Sum* partials, R* out) {
    using S = typename Terms::Sum;
    // Two sets in turn, so that one barrier per virtual block is enough: whoever fills a set again has passed the
    // barrier that follows its last use.
    __shared__ S warp_values[2][CANONICAL_THREADS / WARP];
    u32 block = blockIdx.x;
    terms.advance((static_cast<u64>(block) << log2_v) / Terms::LANES + threadIdx.x);
    for (u32 turn = 0;; turn ^= 1) {
        u32 left = blocks - block;
        // All but the last are whole. What the last has fits 32 bits, so that the difference may be taken in 32 bits.
        u32 elements = left == 1 ? static_cast<u32>(n) - (block << log2_v) : 1u << log2_v;
        S sums[Terms::LANES];
#pragma unroll
        for (auto& sum : sums) {
            sum = Op::template identity<S>();
        }
        source.take(terms, elements, sums);
        if (left <= gridDim.x) {
            allow_next_launch();
        }
        S value = block_tree<Op, CANONICAL_THREADS>(combine_lanes<Op>(sums), warp_values[turn]);
        if (threadIdx.x == 0) {
            if (blocks == 1) {
                store_result(out, value);
            } else {
                partials[block] = value;
            }
        }
        if (left <= gridDim.x) {
            return;
        }
        block += gridDim.x;
        terms.advance((static_cast<u64>(gridDim.x) << log2_v) / Terms::LANES);
    }
}

// The walk by loads from global memory.
template <class Op, class Terms, class R>
__device__ inline void reduce_virtual_blocks(Terms terms, u64 n, u32 log2_v, u32 blocks, typename Terms::Sum* partials,
                                             R* out) {
    wait_for_previous_launch();
    FromMemory source;
    walk_virtual_blocks<Op>(source, terms, n, log2_v, blocks, partials, out);
}
