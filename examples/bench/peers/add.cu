// Vector addition by cub::DeviceTransform.

#include "peers.h"

#include <cub/device/device_transform.cuh>
#include <cuda/std/tuple>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

struct Add {
    __device__ float operator()(float x, float y) const { return x + y; }
    __device__ double operator()(double x, double y) const { return x + y; }
    __device__ __half operator()(__half x, __half y) const {
        return __float2half_rn(__half2float(x) + __half2float(y));
    }
    __device__ __nv_bfloat16 operator()(__nv_bfloat16 x, __nv_bfloat16 y) const {
        return __float2bfloat16_rn(__bfloat162float(x) + __bfloat162float(y));
    }
    // Integers wrap around.
    __device__ uint32_t operator()(uint32_t x, uint32_t y) const { return x + y; }
    __device__ uint64_t operator()(uint64_t x, uint64_t y) const { return x + y; }
};

template <typename T>
cudaError_t add(const void *x, const void *y, void *z, uint64_t n, cudaStream_t stream) {
    // CUB throws where a CUDA call that should not fail does; nothing may leave a C function so.
    try {
        return cub::DeviceTransform::Transform(
            cuda::std::make_tuple(static_cast<const T *>(x), static_cast<const T *>(y)), static_cast<T *>(z),
            static_cast<int64_t>(n), Add{}, stream);
    } catch (...) {
        return cudaErrorUnknown;
    }
}

} // namespace

int32_t rungs_add(int32_t type, const void *x, const void *y, void *z, uint64_t n, cudaStream_t stream) {
    switch (type) {
    case RUNGS_F32:
        return add<float>(x, y, z, n, stream);
    case RUNGS_F64:
        return add<double>(x, y, z, n, stream);
    case RUNGS_F16:
        return add<__half>(x, y, z, n, stream);
    case RUNGS_BF16:
        return add<__nv_bfloat16>(x, y, z, n, stream);
    case RUNGS_I32:
        return add<uint32_t>(x, y, z, n, stream);
    case RUNGS_I64:
        return add<uint64_t>(x, y, z, n, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
