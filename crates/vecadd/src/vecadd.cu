// Element-wise addition of vectors of n elements.
//
//   vecadd       z[i] = x[i] + y[i]
//   accumulate   z[i] = (x[i] + y[i]) + z[i]
//
// Sums of halves are computed in f32 and rounded once at the end. Integers wrap around. The bits of a NaN are up to the
// device. z may be x or y, but may not overlap them otherwise.
#include "arithmetic.cuh"
#include "convert.cuh"
#include "dependency.cuh"
#include "grid.cuh"
#include "instantiate.cuh"
#include "packet.cuh"
#include "types.cuh"

// What to do with one element: `z` is the element that is there already, and is loaded only if it is needed.
struct VecAdd {
    static constexpr bool READS_Z = false;
    template <class T>
    __device__ static T apply(T x, T y, T) {
        return narrow<T>(add(widen(x), widen(y)));
    }
};
struct Accumulate {
    static constexpr bool READS_Z = true;
    template <class T>
    __device__ static T apply(T x, T y, T z) {
        return narrow<T>(add(add(widen(x), widen(y)), widen(z)));
    }
};

template <class Op, class T>
__device__ inline void add_element(const T* x, const T* y, T* z, u64 i) {
    z[i] = Op::apply(x[i], y[i], Op::READS_Z ? z[i] : T{});
}

// One element a thread, on a grid of one dimension. The last block may reach past the end.
template <class Op, class T>
__device__ inline void grid1d(const T* x, const T* y, T* z, u64 n) {
    u64 i = thread_1d();
    if (i < n) {
        add_element<Op>(x, y, z, i);
    }
}

// The same on a grid of two dimensions. Whole blocks of it may lie past the end.
template <class Op, class T>
__device__ inline void grid2d(const T* x, const T* y, T* z, u64 n) {
    u64 i = thread_2d();
    if (i < n) {
        add_element<Op>(x, y, z, i);
    }
}

// A one-dimensional grid of any size goes over the vector in strides of its number of threads.
template <class Op, class T>
__device__ inline void stride(const T* x, const T* y, T* z, u64 n) {
    u64 threads = threads_1d();
    for (u64 i = thread_1d(); i < n; i += threads) {
        add_element<Op>(x, y, z, i);
    }
}

// The elements at from, from + stride, ...
template <class T>
__device__ inline Packet<T> load_strided(const T* from, u64 stride) {
    Packet<T> packet;
#pragma unroll
    for (u32 lane = 0; lane < LANES<T>; ++lane, from += stride) {
        packet.lane[lane] = *from;
    }
    return packet;
}

// One packet of 16 bytes a thread, on a grid of one dimension: the widest access there is, so the fewest instructions
// and the most bytes in flight. Nobody reads z again soon, so it is stored past the caches.
//
// Launches may overlap: the next one may begin when the loads of this one do, and waits for its stores before it
// touches memory. The call comes before the loads: behind them, the assembler would put it where they have arrived.
// Threads without a whole packet need not call: those of their block do, or it ends.
template <class Op, class T>
__device__ inline void packets(const T* x, const T* y, T* z, u64 n) {
    constexpr u32 L = LANES<T>;
    wait_for_previous_launch();
    if (is_aligned(x) && is_aligned(y) && is_aligned(z)) {
        u64 first = thread_1d() * L;
        if (first + L <= n) {
            allow_next_launch();
            Packet<T> a = Whole::load(x + first);
            Packet<T> b = Whole::load(y + first);
            Packet<T> c = Op::READS_Z ? Whole::load(z + first) : Packet<T>{};
#pragma unroll
            for (u32 lane = 0; lane < L; ++lane) {
                c.lane[lane] = Op::apply(a.lane[lane], b.lane[lane], c.lane[lane]);
            }
            store_streaming(z + first, c);
        } else {
#pragma unroll 1
            for (u64 i = first; i < n; ++i) {
                add_element<Op>(x, y, z, i);
            }
        }
    } else {
        // The same elements for each block, but a thread takes every blockDim.x-th: each access of a warp is
        // contiguous.
        u64 stride = blockDim.x;
        u64 first = blockIdx.x * stride * L + threadIdx.x;
        if (first + (L - 1) * stride < n) {
            allow_next_launch();
            // All loads come before the first store, or each element would wait for the memory by itself.
            Packet<T> a = load_strided(x + first, stride);
            Packet<T> b = load_strided(y + first, stride);
            Packet<T> c = Op::READS_Z ? load_strided(z + first, stride) : Packet<T>{};
            T* to = z + first;
#pragma unroll
            for (u32 lane = 0; lane < L; ++lane, to += stride) {
                *to = Op::apply(a.lane[lane], b.lane[lane], c.lane[lane]);
            }
        } else {
#pragma unroll 1
            for (u32 k = 0; k < L; ++k, first += stride) {
                if (first < n) {
                    add_element<Op>(x, y, z, first);
                }
            }
        }
    }
}

// A kernel that does Op in one of the shapes, for every type.
#define KERNEL(op, Op, shape, bounds)                                                                                  \
    template <class T>                                                                                                 \
    __device__ inline void op##_##shape(const T* x, const T* y, T* z, u64 n) {                                         \
        shape<Op>(x, y, z, n);                                                                                         \
    }                                                                                                                  \
    INSTANTIATE(op##_##shape, bounds, (const T* x, const T* y, T* z, u64 n), (x, y, z, n))

KERNEL(vecadd, VecAdd, grid1d, )
KERNEL(vecadd, VecAdd, grid2d, )
KERNEL(vecadd, VecAdd, stride, )
KERNEL(vecadd, VecAdd, packets, __launch_bounds__(1024))
KERNEL(accumulate, Accumulate, grid1d, )
KERNEL(accumulate, Accumulate, grid2d, )
KERNEL(accumulate, Accumulate, stride, )
KERNEL(accumulate, Accumulate, packets, __launch_bounds__(1024))
