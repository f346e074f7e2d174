// Sums of 32-bit integers by the warp's own reduction, which devices of compute capability 8.0 and later have.
#include "arithmetic.cuh"
#include "atomic.cuh"
#include "block.cuh"
#include "grid.cuh"
#include "instantiate.cuh"
#include "types.cuh"
#include "warp.cuh"

// The sum of a value of each of the lanes in `members`, which alone take part. The instruction adds in 32 bits, where
// 32 values may overflow; so the low and the high 16 bits are added up apart, and the high ones carry the sign.
__device__ inline i64 redux_sum(i32 value, u32 members) {
    u32 low = __reduce_add_sync(members, static_cast<u32>(value) & 0xffff);
    i32 high = __reduce_add_sync(members, value >> 16);
    return static_cast<i64>(high) * 0x10000 + low;
}
__device__ inline u64 redux_sum(u32 value, u32 members) {
    u32 low = __reduce_add_sync(members, value & 0xffff);
    u32 high = __reduce_add_sync(members, value >> 16);
    return (static_cast<u64>(high) << 16) + low;
}

// One element a thread. Two instructions instead of the five rounds of shuffles, each of which moves 64-bit sums in two
// halves.
template <class T>
__device__ inline void redux(const T* x, u64 n, sum_t<T>* out) {
    __shared__ sum_t<T> warp_values[WARP];
    u64 i = thread_1d();
    sum_t<T> sum = redux_sum(i < n ? x[i] : T(0), first_lanes(lanes_present()));
    sum = combine_warps<Plus>(sum, warp_values);
    if (threadIdx.x == 0) {
        atomic_add(out, sum);
    }
}

INSTANTIATE_FOR(i32, redux, __launch_bounds__(1024), (const T* x, u64 n, sum_t<T>* out), (x, n, out))
INSTANTIATE_FOR(u32, redux, __launch_bounds__(1024), (const T* x, u64 n, sum_t<T>* out), (x, n, out))
