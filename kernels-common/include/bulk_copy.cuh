// Bulk copies from global to shared memory, and barriers in shared memory: they count the bytes that have arrived, and
// threads. For compute capability 9.0 and later.
#pragma once

#include "types.cuh"

// Where an object in shared memory lies, as instructions for shared memory name it.
__device__ inline u32 shared_address(const void* object) {
    return static_cast<u32>(__cvta_generic_to_shared(object));
}

// A barrier in shared memory. It goes through phases, the first of which has parity 0; a phase ends when all arrivals
// and all announced bytes are there. Who waits for parity 1 before the first phase has ended does not wait at all.
struct Mbarrier {
    u64 opaque;
};

// Makes a barrier of so many arrivals a phase. Other threads may use it after a barrier of the block.
__device__ inline void mbarrier_init(Mbarrier& barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}

// Makes what the calling thread has written to shared memory, barriers among it, visible to copies that are started
// later. They reach memory by another way than loads and stores do.
__device__ inline void fence_before_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Arrives at the barrier. Releases: for whoever waits for the phase, what the calling thread did before is done.
__device__ inline void mbarrier_arrive(Mbarrier& barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

// Waits for the end of the phase of this parity, the current one or the last one. What has been copied is there then.
__device__ inline void mbarrier_wait(Mbarrier& barrier, u32 parity) {
    u32 ended;
    do {
        asm volatile("{\n"
                     ".reg .pred ended;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, ended;\n"
                     "}"
                     : "=r"(ended)
                     : "r"(shared_address(&barrier)), "r"(parity)
                     : "memory");
    } while (ended == 0);
}

// Starts copying `bytes` bytes to shared memory, announces them to the barrier, and arrives there. Addresses and number
// of bytes are multiples of 16.
__device__ inline void bulk_copy(void* to, const void* from, u32 bytes, Mbarrier& barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(&barrier))
                 : "memory");
}
