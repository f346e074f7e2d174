// What one thread adds up by itself when there are more elements than threads.
#pragma once

#include "arithmetic.cuh"
#include "convert.cuh"
#include "types.cuh"

// The sum of elements first, first + step, ..., in this order. If `step` is the number of threads that take part, and
// `first` the number of the thread, neighbours load neighbouring elements at every step.
//
// Four loads are under way before the first has to be there: a loop that asks after each load whether it was the last
// would wait for the memory four times as often.
template <class T>
__device__ inline sum_t<T> strided_sum(const T* x, u64 n, u64 first, u64 step) {
    constexpr u32 IN_FLIGHT = 4;
    u64 i = first;
    sum_t<T> sum = 0;
    for (; i + (IN_FLIGHT - 1) * step < n; i += IN_FLIGHT * step) {
        T batch[IN_FLIGHT];
#pragma unroll
        for (u32 k = 0; k < IN_FLIGHT; ++k) {
            batch[k] = x[i + k * step];
        }
#pragma unroll
        for (u32 k = 0; k < IN_FLIGHT; ++k) {
            sum = add(sum, widen(batch[k]));
        }
    }
    for (; i < n; i += step) {
        sum = add(sum, widen(x[i]));
    }
    return sum;
}
