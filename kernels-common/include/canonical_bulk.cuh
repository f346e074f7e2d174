// The canonical order by bulk copies through shared memory. For compute capability 9.0 and later.
//
// One thread starts the copies, several stages ahead of where the block reads. That keeps more bytes under way than the
// threads' registers could take, also while a virtual block ends: the copies of the next one have begun by then.
//
//   packets    | virtual block b                   | virtual block b + gridDim.x       | ...
//   stage        0     1     2     3     4     5     0     1     2     3     4     5     0
//                copied      read  being copied
//                anew
//
// A warp that has read a stage arrives at a barrier of that stage, and goes on with the next one. Only thread 0 waits
// there for all warps, before it has the stage copied anew, and one stage late: as a rule they are done by then.
//
// Which thread takes which packet, and all that follows, is as in canonical.cuh.
#pragma once

#include "bulk_copy.cuh"
#include "canonical.cuh"
#include "dependency.cuh"
#include "types.cuh"
#include "warp.cuh"

// The stages of a block, and the rows of 512 packets, one for each thread, of a stage. The host asks for as much dynamic
// shared memory (single_launch.rs).
constexpr u32 BULK_STAGES = 6;
constexpr i32 BULK_ROWS = 4;

constexpr u32 STAGE_PACKETS = BULK_ROWS * CANONICAL_THREADS;
constexpr u32 PACKET_BYTES = 16;

// A packet in memory, of whatever type its elements are.
struct alignas(PACKET_BYTES) RawPacket {
    u8 bytes[PACKET_BYTES];
};

// The packets of a slice in the order in which this block takes them in, a stage at a time. Each virtual block starts
// with a stage of its own; its last stage may be short.
class Stages {
    const RawPacket* packets;
    u64 count;         // Whole packets of the slice.
    u32 block_packets; // Packets of a virtual block.
    u64 next;          // The first packet of the next stage.
    u64 end;           // Where its virtual block ends.

  public:
    __device__ Stages(const void* slice, u64 count, u32 block_packets)
        : packets(static_cast<const RawPacket*>(slice)), count(count), block_packets(block_packets),
          next(static_cast<u64>(blockIdx.x) * block_packets), end(next + block_packets) {}

    // Starts the copy of the next stage, if there is one.
    __device__ void copy_next(RawPacket* to, Mbarrier& arrived) {
        if (next < count) {
            u64 left = min(end, count) - next;
            bulk_copy(to, packets + next, static_cast<u32>(min(left, u64{STAGE_PACKETS})) * PACKET_BYTES, arrived);
        }
        next += STAGE_PACKETS;
        if (next >= end) {
            end += static_cast<u64>(gridDim.x) * block_packets;
            next = end - block_packets;
        }
    }
};

// The barriers of a stage.
struct StageBarriers {
    Mbarrier arrived; // A phase for each copy to the stage: ends when its bytes are there.
    Mbarrier read;    // As many phases: ends when all warps have read them.
};

// Takes in virtual blocks, as FromMemory does, from stages in shared memory. Beyond what canonical.cuh says, the terms
// have `at(p)`, the terms of a packet that lies at p.
class FromStages {
    Stages stages; // Thread 0 goes through them.
    RawPacket* ring;
    StageBarriers* barriers;
    u32 current = 0; // The stage of the ring to read next.
    u32 parity = 0;  // That of the phases in which its barriers are.

    __device__ RawPacket* stage(u32 which) const { return ring + which * STAGE_PACKETS; }

    // Takes in the thread's packets of a stage. `left` is as in take_rows, and may be below 0.
    template <class Terms>
    __device__ static void take_stage(const Terms& terms, const RawPacket* packets, i32 left,
                                      typename Terms::Sum (&sums)[Terms::LANES]) {
        constexpr i32 STEP = CANONICAL_THREADS;
        constexpr i32 ROWS = Terms::IN_FLIGHT < BULK_ROWS ? Terms::IN_FLIGHT : BULK_ROWS;
        static_assert(BULK_ROWS % ROWS == 0, "whole turns");
#pragma unroll 1
        for (i32 row = 0; row < BULK_ROWS; row += ROWS) {
            take_rows<ROWS>(terms.at(packets + row * STEP + threadIdx.x), left - row * STEP, sums);
        }
    }

    __device__ void copy_next_to(u32 which) { stages.copy_next(stage(which), barriers[which].arrived); }

    // Has the stage before the current one copied anew, once all warps have read it. At the very first stage that one is
    // the last of the ring: nothing has been there yet, and nobody is waited for.
    __device__ void copy_behind() {
        u32 behind = (current == 0 ? BULK_STAGES : current) - 1;
        mbarrier_wait(barriers[behind].read, current == 0 ? parity ^ 1 : parity);
        copy_next_to(behind);
    }

  public:
    // The ring has BULK_STAGES stages, and as many sets of barriers.
    __device__ FromStages(Stages stages, RawPacket* ring, StageBarriers* barriers)
        : stages(stages), ring(ring), barriers(barriers) {}

    // Makes the barriers, waits for the launches before this one, and starts the first copies.
    __device__ void start() {
        if (threadIdx.x == 0) {
#pragma unroll 1
            for (u32 which = 0; which < BULK_STAGES; ++which) {
                mbarrier_init(barriers[which].arrived, 1);
                mbarrier_init(barriers[which].read, CANONICAL_THREADS / WARP);
            }
            fence_before_copies();
        }
        wait_for_previous_launch();
        if (threadIdx.x == 0) {
#pragma unroll 1
            for (u32 which = 0; which < BULK_STAGES - 1; ++which) {
                copy_next_to(which);
            }
        }
        __syncthreads(); // Before others than thread 0 use the barriers.
    }

    template <class Terms>
    __device__ void take(Terms terms, u32 elements, typename Terms::Sum (&sums)[Terms::LANES]) {
        u32 packets = elements / Terms::LANES;
#pragma unroll 1
        for (u32 first = 0; first < packets; first += STAGE_PACKETS) {
            mbarrier_wait(barriers[current].arrived, parity);
            take_stage(terms, stage(current), static_cast<i32>(packets - first) - static_cast<i32>(threadIdx.x), sums);
            __syncwarp(); // All lanes have read the stage before one of them arrives for the warp.
            if (lane_number() == 0) {
                mbarrier_arrive(barriers[current].read);
            }
            if (threadIdx.x == 0) {
                copy_behind();
            }
            if (++current == BULK_STAGES) {
                current = 0;
                parity ^= 1;
            }
        }
        // If the last packet of the slice lacks lanes, the thread whose turn it is takes those there are.
        if (elements % Terms::LANES != 0 && threadIdx.x == packets % CANONICAL_THREADS) {
            terms.advance(static_cast<i32>(packets) - static_cast<i32>(threadIdx.x));
            take_lanes(terms, elements % Terms::LANES, sums);
        }
    }
};

// As reduce_virtual_blocks, for terms of one slice `x` that starts at a multiple of 16 bytes.
template <class Op, class Terms, class R>
__device__ inline void reduce_virtual_blocks_in_bulk(Terms terms, u64 n, u32 log2_v, u32 blocks,
                                                     typename Terms::Sum* partials, R* out) {
    extern __shared__ __align__(128) RawPacket ring[];
    __shared__ StageBarriers barriers[BULK_STAGES];
    FromStages source(Stages(terms.x, n / Terms::LANES, (1u << log2_v) / Terms::LANES), ring, barriers);
    source.start();
    walk_virtual_blocks<Op>(source, terms, n, log2_v, blocks, partials, out);
}
