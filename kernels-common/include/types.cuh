// The element types, and the types that their sums live in.
#pragma once

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;
using f32 = float;
using f64 = double;

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "the sizes that the host assumes");

// IEEE half precision and bfloat16 as storage. Arithmetic is done in f32, which holds both exactly; hardware support
// for more than that differs between the architectures that one PTX has to serve.
struct f16 {
    u16 bits;
};
struct bf16 {
    u16 bits;
};

// sum_t<T> is wide enough that the accumulator of a sum of T does not saturate. 64-bit integers wrap around.
template <class T>
struct SumOf;
template <>
struct SumOf<f32> {
    using type = f32;
};
template <>
struct SumOf<f64> {
    using type = f64;
};
template <>
struct SumOf<f16> {
    using type = f32;
};
template <>
struct SumOf<bf16> {
    using type = f32;
};
template <>
struct SumOf<i32> {
    using type = i64;
};
template <>
struct SumOf<u32> {
    using type = u64;
};
template <>
struct SumOf<i64> {
    using type = i64;
};
template <>
struct SumOf<u64> {
    using type = u64;
};
template <class T>
using sum_t = typename SumOf<T>::type;
