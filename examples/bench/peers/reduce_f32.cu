#include "reduce.cuh"

cudaError_t reduce_f32(int32_t reduction, const void *x, void *out, uint64_t n, void *workspace, size_t &bytes,
                      cudaStream_t stream) {
    return reduce<float, float>(reduction, x, out, n, workspace, bytes, stream);
}
