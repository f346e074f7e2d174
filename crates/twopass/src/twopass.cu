// Sums in two launches. The end of the first is a barrier for the whole grid: every partial is in memory when the
// second starts, without an atomic operation, a fence or a counter.
#include "arithmetic.cuh"
#include "block.cuh"
#include "grid.cuh"
#include "instantiate.cuh"
#include "stride.cuh"
#include "types.cuh"

constexpr u32 THREADS = 256;
constexpr u32 FINISH_THREADS = 1024;

// partials[b] is the sum of what block b's threads take: thread t of the grid elements t, t + threads, ... Each block
// has a place of its own to write to, so that no block waits for another.
template <class T>
__device__ inline void twopass_partials(const T* x, u64 n, sum_t<T>* partials) {
    __shared__ sum_t<T> warp_values[THREADS / WARP];
    sum_t<T> sum = block_tree<Plus, THREADS>(strided_sum(x, n, thread_1d(), threads_1d()), warp_values);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
    }
}

// *out is the sum of any number of partials. One block, because blocks would leave partials again; its threads loop.
template <class S>
__device__ inline void twopass_finish(const S* partials, u64 count, S* out) {
    __shared__ S warp_values[FINISH_THREADS / WARP];
    S sum = block_tree<Plus, FINISH_THREADS>(strided_sum(partials, count, threadIdx.x, FINISH_THREADS), warp_values);
    if (threadIdx.x == 0) {
        *out = normalised(sum);
    }
}

INSTANTIATE(twopass_partials, __launch_bounds__(THREADS), (const T* x, u64 n, sum_t<T>* partials), (x, n, partials))
INSTANTIATE_SUMS(twopass_finish, __launch_bounds__(FINISH_THREADS), (const T* partials, u64 count, T* out),
                 (partials, count, out))
