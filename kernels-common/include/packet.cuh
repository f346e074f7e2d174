// Packets: 16 bytes of elements, the most that one thread loads or stores in one instruction.
#pragma once

#include "types.cuh"

template <class T>
constexpr u32 LANES = 16 / sizeof(T);

template <class T>
struct Packet {
    T lane[LANES<T>];
};

// The vector that carries a packet between memory and registers. Its components are the elements themselves where the
// machine has such a vector, so that no instruction is spent on taking it apart; halves travel in pairs.
template <class T>
struct Carrier;

// Two halves in one register, the first in the low bits. One instruction splits a pair of f16, which are converted from
// 16-bit registers; written as a shift the compiler needs three. A bfloat16 is widened in place, by a shift or a mask.
__device__ inline void split(u32 pair, f16& first, f16& second) {
    asm("mov.b32 {%0, %1}, %2;" : "=h"(first.bits), "=h"(second.bits) : "r"(pair));
}
__device__ inline void split(u32 pair, bf16& first, bf16& second) {
    first.bits = static_cast<u16>(pair);
    second.bits = static_cast<u16>(pair >> 16);
}
template <class T>
__device__ inline u32 join(T first, T second) {
    return first.bits | static_cast<u32>(second.bits) << 16;
}

#define PACKET_OF_4(T, VECTOR)                                                                                         \
    template <>                                                                                                        \
    struct Carrier<T> {                                                                                                \
        using type = VECTOR;                                                                                           \
        __device__ static Packet<T> unpack(type v) { return {v.x, v.y, v.z, v.w}; }                                    \
        __device__ static type pack(const Packet<T>& p) { return {p.lane[0], p.lane[1], p.lane[2], p.lane[3]}; }       \
    };
#define PACKET_OF_2(T, VECTOR)                                                                                         \
    template <>                                                                                                        \
    struct Carrier<T> {                                                                                                \
        using type = VECTOR;                                                                                           \
        __device__ static Packet<T> unpack(type v) { return {v.x, v.y}; }                                              \
        __device__ static type pack(const Packet<T>& p) { return {p.lane[0], p.lane[1]}; }                             \
    };
#define PACKET_OF_8(T)                                                                                                 \
    template <>                                                                                                        \
    struct Carrier<T> {                                                                                                \
        using type = uint4;                                                                                            \
        __device__ static Packet<T> unpack(type v) {                                                                   \
            Packet<T> p;                                                                                               \
            split(v.x, p.lane[0], p.lane[1]);                                                                          \
            split(v.y, p.lane[2], p.lane[3]);                                                                          \
            split(v.z, p.lane[4], p.lane[5]);                                                                          \
            split(v.w, p.lane[6], p.lane[7]);                                                                          \
            return p;                                                                                                  \
        }                                                                                                              \
        __device__ static type pack(const Packet<T>& p) {                                                              \
            return {join(p.lane[0], p.lane[1]), join(p.lane[2], p.lane[3]), join(p.lane[4], p.lane[5]),                \
                    join(p.lane[6], p.lane[7])};                                                                       \
        }                                                                                                              \
    };
PACKET_OF_4(f32, float4)
PACKET_OF_4(i32, int4)
PACKET_OF_4(u32, uint4)
PACKET_OF_2(f64, double2)
PACKET_OF_2(i64, longlong2)
PACKET_OF_2(u64, ulonglong2)
PACKET_OF_8(f16)
PACKET_OF_8(bf16)
#undef PACKET_OF_2
#undef PACKET_OF_4
#undef PACKET_OF_8

// Whether packets can be loaded and stored whole at an address.
template <class T>
__device__ inline bool is_aligned(const T* address) {
    return (reinterpret_cast<u64>(address) & 15) == 0;
}

// Two ways to load the packet at an address: Whole, which needs an aligned address, and Shifted, which does not. What
// `load` returns becomes a packet by `packet`, which is given the address again, or that of any other packet of the
// slice. So all loads can come before the first use of any.
//
// IN_FLIGHT is how many packets to load of each of so many inputs before the first is used: enough bytes under way to
// cover the memory's latency, within the registers there are. A packet of halves takes many instructions to take in:
// two at a time are as fast as four, and half as much to compile.
//
// REACHES: also reads what lies between the packet and the aligned addresses around it, so that neither the first nor
// the last whole packet of a slice can be loaded in this way.
struct Whole {
    template <class T, u32 INPUTS>
    static constexpr i32 IN_FLIGHT = sizeof(T) == 2 ? 2 : 4;
    static constexpr bool REACHES = false;
    template <class T>
    using Loaded = Packet<T>;
    template <class T>
    __device__ static Packet<T> load(const T* from) {
        using Vector = typename Carrier<T>::type;
        return Carrier<T>::unpack(*reinterpret_cast<const Vector*>(from));
    }
    template <class T>
    __device__ static Packet<T> packet(const Packet<T>& loaded, const T*) {
        return loaded;
    }
};

// The two aligned packets that have a part of the one that is wanted. The next thread loads the second of them as well,
// which is in the first-level cache then.
struct Shifted {
    template <class T, u32 INPUTS>
    static constexpr i32 IN_FLIGHT = sizeof(T) == 2 ? 2 : 4 / INPUTS;
    static constexpr bool REACHES = true;
    struct Pair {
        uint4 low;
        uint4 high;
    };
    template <class T>
    using Loaded = Pair;
    template <class T>
    __device__ static u32 shift(const T* from) {
        return static_cast<u32>(reinterpret_cast<u64>(from)) & 15;
    }
    template <class T>
    __device__ static Pair load(const T* from) {
        const u8* aligned = reinterpret_cast<const u8*>(from) - shift(from);
        const uint4* pair = reinterpret_cast<const uint4*>(aligned);
        return {pair[0], pair[1]};
    }
    template <class T>
    __device__ static Packet<T> packet(const Pair& pair, const T* from) {
        return Carrier<T>::unpack(__builtin_bit_cast(typename Carrier<T>::type, words_at<T>(pair, shift(from))));
    }

  private:
    // The four words of the eight from byte `shift` on.
    template <class T>
    __device__ static uint4 words_at(const Pair& pair, u32 shift) {
        const auto& [low, high] = pair;
        if constexpr (sizeof(T) == 8) {
            return shift == 0 ? low : uint4{low.z, low.w, high.x, high.y};
        } else {
            bool by_two = (shift & 8) != 0, by_one = (shift & 4) != 0;
            u32 word[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
            for (u32 i = 0; i < 6; ++i) {
                word[i] = by_two ? word[i + 2] : word[i];
            }
#pragma unroll
            for (u32 i = 0; i < 5; ++i) {
                word[i] = by_one ? word[i + 1] : word[i];
            }
            if constexpr (sizeof(T) == 2) {
                u32 bits = (shift & 2) * 8;
#pragma unroll
                for (u32 i = 0; i < 4; ++i) {
                    word[i] = __funnelshift_r(word[i], word[i + 1], bits);
                }
            }
            return {word[0], word[1], word[2], word[3]};
        }
    }
};

// Stores a packet at an aligned address, marked to leave the caches first: for results that nobody reads soon.
template <class T>
__device__ inline void store_streaming(T* to, const Packet<T>& packet) {
    __stcs(reinterpret_cast<typename Carrier<T>::type*>(to), Carrier<T>::pack(packet));
}
