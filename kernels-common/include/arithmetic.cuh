// Arithmetic on sums, with every rounding stated: a floating-point operation left to the compiler may be fused with its
// neighbour on one architecture and not on another, and the bits would differ.
#pragma once

#include "types.cuh"

__device__ inline f32 add(f32 a, f32 b) { return __fadd_rn(a, b); }
__device__ inline f64 add(f64 a, f64 b) { return __dadd_rn(a, b); }
__device__ inline u64 add(u64 a, u64 b) { return a + b; }
__device__ inline i64 add(i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) + static_cast<u64>(b)); }

__device__ inline f32 multiply(f32 a, f32 b) { return __fmul_rn(a, b); }
__device__ inline f64 multiply(f64 a, f64 b) { return __dmul_rn(a, b); }
__device__ inline u64 multiply(u64 a, u64 b) { return a * b; }
__device__ inline i64 multiply(i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) * static_cast<u64>(b)); }

// sum + x * y, rounded once.
__device__ inline f32 fused_add(f32 sum, f32 x, f32 y) { return __fmaf_rn(x, y, sum); }
__device__ inline f64 fused_add(f64 sum, f64 x, f64 y) { return __fma_rn(x, y, sum); }
__device__ inline u64 fused_add(u64 sum, u64 x, u64 y) { return add(sum, multiply(x, y)); }
__device__ inline i64 fused_add(i64 sum, i64 x, i64 y) { return add(sum, multiply(x, y)); }

// The value with every NaN replaced by the one that results are stored with (Rust's NAN). Processors differ in the NaN
// that an operation returns, some keep the payload of an operand, so that a result would depend on where it was
// computed.
__device__ inline f32 normalised(f32 x) { return x != x ? __uint_as_float(0x7fc00000) : x; }
__device__ inline f64 normalised(f64 x) { return x != x ? __longlong_as_double(0x7ff8000000000000) : x; }
__device__ inline u64 normalised(u64 x) { return x; }
__device__ inline i64 normalised(i64 x) { return x; }

// A way to combine two sums, with the value to start from. Product, minimum and maximum have the same shape.
struct Plus {
    template <class S>
    __device__ static S identity() {
        return S(0);
    }
    template <class S>
    __device__ static S combine(S a, S b) {
        return add(a, b);
    }
};
