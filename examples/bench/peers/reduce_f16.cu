#include <cuda_fp16.h>
#include "reduce.cuh"

cudaError_t reduce_f16(int32_t reduction, const void *x, void *out, uint64_t n, void *workspace, size_t &bytes,
                      cudaStream_t stream) {
    return reduce<__half, float>(reduction, x, out, n, workspace, bytes, stream);
}
