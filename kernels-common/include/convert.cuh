// From an element to the type of its sum (exact) and back (rounded to nearest, ties to even).
#pragma once

#include "arithmetic.cuh"
#include "types.cuh"

__device__ inline f32 widen(f32 x) { return x; }
__device__ inline f64 widen(f64 x) { return x; }
__device__ inline i64 widen(i32 x) { return x; }
__device__ inline u64 widen(u32 x) { return x; }
__device__ inline i64 widen(i64 x) { return x; }
__device__ inline u64 widen(u64 x) { return x; }

__device__ inline f32 widen(f16 x) {
    f32 wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
}

// A bfloat16 is the upper half of an f32.
__device__ inline f32 widen(bf16 x) { return __uint_as_float(static_cast<u32>(x.bits) << 16); }

template <class T>
__device__ inline T narrow(sum_t<T> sum) {
    return static_cast<T>(sum); // Integers keep their low bits, so that a wrapped sum is the wrapped result.
}

template <>
__device__ inline f16 narrow<f16>(f32 sum) {
    f16 x;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x.bits) : "f"(sum));
    return x;
}

// In integers, because the instruction needs sm_80. Adding just under half of the last kept bit, and that bit itself
// for ties to even, carries into the exponent exactly when rounding does; an overflow ends at infinity.
template <>
__device__ inline bf16 narrow<bf16>(f32 sum) {
    u32 bits = __float_as_uint(sum);
    u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return {static_cast<u16>(sum != sum ? 0x7fff : rounded)};
}

// Stores the result of a reduction: a sum, or, where it lies among the elements, an element.
template <class R>
__device__ inline void store_result(R* out, sum_t<R> value) {
    *out = normalised(narrow<R>(value));
}
