// cub::DeviceReduce for one element type. Each type has a translation unit of its own, because they take long to
// compile.
#pragma once

#include "peers.h"

#include <cub/device/device_reduce.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include <type_traits>

template <typename Sum> struct Widen {
    template <typename T> __host__ __device__ Sum operator()(T x) const { return static_cast<Sum>(x); }
};

// `Sum` is the type of sums of `T`.
template <typename T, typename Sum>
cudaError_t reduce(int32_t reduction, const void *input, void *output, uint64_t n, void *workspace, size_t &bytes,
                   cudaStream_t stream) {
    const T *x = static_cast<const T *>(input);
    T *extreme = static_cast<T *>(output);
    Sum *sum = static_cast<Sum *>(output);
    // CUB throws where a CUDA call that should not fail does; nothing may leave a C function so.
    try {
        switch (reduction) {
        case RUNGS_SUM:
            if constexpr (std::is_arithmetic_v<T>) {
                return cub::DeviceReduce::Sum(workspace, bytes, x, sum, n, stream);
            } else {
                return cub::DeviceReduce::TransformReduce(workspace, bytes, x, sum, n, cuda::std::plus<>{},
                                                          Widen<Sum>{}, Sum{0}, stream);
            }
        case RUNGS_MINIMUM:
            return cub::DeviceReduce::Min(workspace, bytes, x, extreme, n, stream);
        case RUNGS_MAXIMUM:
            return cub::DeviceReduce::Max(workspace, bytes, x, extreme, n, stream);
        default:
            return cudaErrorInvalidValue;
        }
    } catch (...) {
        return cudaErrorUnknown;
    }
}

using Reduce = cudaError_t(int32_t, const void *, void *, uint64_t, void *, size_t &, cudaStream_t);

Reduce reduce_f32, reduce_f64, reduce_f16, reduce_bf16, reduce_i32, reduce_i64;
