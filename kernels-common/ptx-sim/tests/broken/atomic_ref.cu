// A chain of blocks by the atomics of the C++ library: each block adds its elements to what the one before it has left,
// and hands over to the next. Blocks take their places in the order in which they start.
#include <cuda/atomic>

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

constexpr int THREADS = 32;

__device__ int place_of_block(unsigned* next) {
    unsigned place = 0;
    if (threadIdx.x == 0) place = Flag(*next).fetch_add(1, cuda::memory_order_relaxed);
    return __shfl_sync(0xffffffff, place, 0);
}

extern "C" __global__ void chained_sums(const int* x, int* sums, unsigned* next, unsigned* done) {
    int place = place_of_block(next), t = threadIdx.x;
    int value = x[place * THREADS + t];
    while (Flag(*done).load(cuda::memory_order_acquire) != place) {
    }
    sums[t] += value;
    __syncthreads();
    if (t == 0) Flag(*done).store(place + 1, cuda::memory_order_release);
}

// Relaxed loads and stores, with fences around.
extern "C" __global__ void chained_sums_with_fences(const int* x, int* sums, unsigned* next, unsigned* done) {
    int place = place_of_block(next), t = threadIdx.x;
    int value = x[place * THREADS + t];
    while (Flag(*done).load(cuda::memory_order_relaxed) != place) {
    }
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    sums[t] += value;
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
    __syncthreads();
    if (t == 0) Flag(*done).store(place + 1, cuda::memory_order_relaxed);
}

// The sums may be stored after the flag.
extern "C" __global__ void chained_sums_relaxed_store(const int* x, int* sums, unsigned* next, unsigned* done) {
    int place = place_of_block(next), t = threadIdx.x;
    int value = x[place * THREADS + t];
    while (Flag(*done).load(cuda::memory_order_acquire) != place) {
    }
    sums[t] += value; // <- race
    __syncthreads();
    if (t == 0) Flag(*done).store(place + 1, cuda::memory_order_relaxed);
}

// The sums may have been loaded before the flag.
extern "C" __global__ void chained_sums_relaxed_load(const int* x, int* sums, unsigned* next, unsigned* done) {
    int place = place_of_block(next), t = threadIdx.x;
    int value = x[place * THREADS + t];
    while (Flag(*done).load(cuda::memory_order_relaxed) != place) {
    }
    sums[t] += value; // <- race
    __syncthreads();
    if (t == 0) Flag(*done).store(place + 1, cuda::memory_order_release);
}

// The flag is one for the threads of a block, and the one who waits for it is in another.
extern "C" __global__ void chained_sums_in_block_scope(const int* x, int* sums, unsigned* next, unsigned* done) {
    using BlockFlag = cuda::atomic_ref<unsigned, cuda::thread_scope_block>;
    int place = place_of_block(next), t = threadIdx.x;
    int value = x[place * THREADS + t];
    while (BlockFlag(*done).load(cuda::memory_order_acquire) != place) { // <- (race)
    }
    sums[t] += value; // <- (race)
    __syncthreads();
    if (t == 0) BlockFlag(*done).store(place + 1, cuda::memory_order_release); // <- (race)
}

// The block hands over when its first thread is done.
extern "C" __global__ void chained_sums_without_barrier(const int* x, int* sums, unsigned* next, unsigned* done) {
    int place = place_of_block(next), t = threadIdx.x;
    int value = x[place * THREADS + t];
    while (Flag(*done).load(cuda::memory_order_acquire) != place) {
    }
    sums[t] += value; // <- race
    if (t == 0) Flag(*done).store(place + 1, cuda::memory_order_release);
}
