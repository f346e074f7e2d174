#include <cuda_bf16.h>
#include "reduce.cuh"

cudaError_t reduce_bf16(int32_t reduction, const void *x, void *out, uint64_t n, void *workspace, size_t &bytes,
                      cudaStream_t stream) {
    return reduce<__nv_bfloat16, float>(reduction, x, out, n, workspace, bytes, stream);
}
