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

// Two ways to load the packet at an address: whole, which needs an aligned address, and lane by lane, which does not.
// IN_FLIGHT is how many packets to load before the first is used: enough bytes under way to cover the memory's latency,
// within the registers there are. A packet of halves takes many instructions to take in: two at a time are as fast as
// four, and half as much to compile.
struct Whole {
    template <class T>
    static constexpr i32 IN_FLIGHT = sizeof(T) == 2 ? 2 : 4;
    template <class T>
    __device__ static Packet<T> load(const T* from) {
        using Vector = typename Carrier<T>::type;
        return Carrier<T>::unpack(*reinterpret_cast<const Vector*>(from));
    }
};
struct LaneByLane {
    template <class T>
    static constexpr i32 IN_FLIGHT = 2;
    template <class T>
    __device__ static Packet<T> load(const T* from) {
        Packet<T> packet;
#pragma unroll
        for (u32 lane = 0; lane < LANES<T>; ++lane) {
            packet.lane[lane] = from[lane];
        }
        return packet;
    }
};

// Stores a packet at an aligned address, marked to leave the caches first: for results that nobody reads soon.
template <class T>
__device__ inline void store_streaming(T* to, const Packet<T>& packet) {
    __stcs(reinterpret_cast<typename Carrier<T>::type*>(to), Carrier<T>::pack(packet));
}
