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

// The lesser and the greater of two values, independent of any order: NaN if either is NaN, and -0 lies below +0. The
// instruction `min` does the latter, but drops a NaN; `min.NaN` keeps it, but needs sm_80. So NaN is looked for here.
#define MINIMUM_AND_MAXIMUM(T, LETTER, NAN_VALUE)                                                                      \
    __device__ inline T minimum(T a, T b) {                                                                            \
        T least;                                                                                                       \
        asm("min." #T " %0, %1, %2;" : "=" LETTER(least) : LETTER(a), LETTER(b));                                      \
        return a != a || b != b ? NAN_VALUE : least;                                                                   \
    }                                                                                                                  \
    __device__ inline T maximum(T a, T b) {                                                                            \
        T greatest;                                                                                                    \
        asm("max." #T " %0, %1, %2;" : "=" LETTER(greatest) : LETTER(a), LETTER(b));                                   \
        return a != a || b != b ? NAN_VALUE : greatest;                                                                \
    }
MINIMUM_AND_MAXIMUM(f32, "f", __uint_as_float(0x7fc00000))
MINIMUM_AND_MAXIMUM(f64, "d", __longlong_as_double(0x7ff8000000000000))
#undef MINIMUM_AND_MAXIMUM
__device__ inline u64 minimum(u64 a, u64 b) { return a < b ? a : b; }
__device__ inline i64 minimum(i64 a, i64 b) { return a < b ? a : b; }
__device__ inline u64 maximum(u64 a, u64 b) { return a < b ? b : a; }
__device__ inline i64 maximum(i64 a, i64 b) { return a < b ? b : a; }

// The value with every NaN replaced by the one that results are stored with (Rust's NAN). Processors differ in the NaN
// that an operation returns, some keep the payload of an operand, so that a result would depend on where it was
// computed.
__device__ inline f32 normalised(f32 x) { return x != x ? __uint_as_float(0x7fc00000) : x; }
__device__ inline f64 normalised(f64 x) { return x != x ? __longlong_as_double(0x7ff8000000000000) : x; }
__device__ inline u64 normalised(u64 x) { return x; }
__device__ inline i64 normalised(i64 x) { return x; }
__device__ inline f16 normalised(f16 x) { return (x.bits & 0x7fff) > 0x7c00 ? f16{0x7e00} : x; }
__device__ inline bf16 normalised(bf16 x) { return (x.bits & 0x7fff) > 0x7f80 ? bf16{0x7fc0} : x; }
__device__ inline u32 normalised(u32 x) { return x; }
__device__ inline i32 normalised(i32 x) { return x; }

// The limits of an element type, in the type of its sums: nothing lies beyond them.
template <class T>
__device__ inline sum_t<T> highest() {
    return __uint_as_float(0x7f800000); // Infinity, of f32 and the halves.
}
template <class T>
__device__ inline sum_t<T> lowest() {
    return -highest<T>();
}
template <>
__device__ inline f64 highest<f64>() {
    return __longlong_as_double(0x7ff0000000000000);
}
#define LIMITS(T, LOWEST, HIGHEST)                                                                                     \
    template <>                                                                                                        \
    __device__ inline sum_t<T> lowest<T>() {                                                                           \
        return LOWEST;                                                                                                 \
    }                                                                                                                  \
    template <>                                                                                                        \
    __device__ inline sum_t<T> highest<T>() {                                                                          \
        return HIGHEST;                                                                                                \
    }
LIMITS(i32, -0x7fffffff - 1, 0x7fffffff)
LIMITS(u32, 0, 0xffffffff)
LIMITS(i64, -0x7fffffffffffffff - 1, 0x7fffffffffffffff)
LIMITS(u64, 0, 0xffffffffffffffff)
#undef LIMITS

// A way to combine two values, with the value to start from, and the neutral value: combining with it changes no value,
// and no bits. They differ for sums alone, which start from +0, while adding +0 makes +0 of -0. All are associative and
// commutative, the floating-point sum and product up to rounding.
struct Plus {
    template <class S>
    __device__ static S identity() {
        return S(0);
    }
    template <class S>
    __device__ static S neutral() {
        return -S(0);
    }
    template <class S>
    __device__ static S combine(S a, S b) {
        return add(a, b);
    }
};

struct Product {
    template <class S>
    __device__ static S identity() {
        return S(1);
    }
    template <class S>
    __device__ static S neutral() {
        return identity<S>();
    }
    template <class S>
    __device__ static S combine(S a, S b) {
        return multiply(a, b);
    }
};

// Of elements of type T, widened: the accumulator is as wide as that of a sum, but starts from a limit of T.
template <class T>
struct Minimum {
    template <class S>
    __device__ static S identity() {
        return highest<T>();
    }
    template <class S>
    __device__ static S neutral() {
        return identity<S>();
    }
    template <class S>
    __device__ static S combine(S a, S b) {
        return minimum(a, b);
    }
};

template <class T>
struct Maximum {
    template <class S>
    __device__ static S identity() {
        return lowest<T>();
    }
    template <class S>
    __device__ static S neutral() {
        return identity<S>();
    }
    template <class S>
    __device__ static S combine(S a, S b) {
        return maximum(a, b);
    }
};
