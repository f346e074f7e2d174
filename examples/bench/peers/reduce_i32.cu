#include "reduce.cuh"

cudaError_t reduce_i32(int32_t reduction, const void *x, void *out, uint64_t n, void *workspace, size_t &bytes,
                      cudaStream_t stream) {
    return reduce<int32_t, int64_t>(reduction, x, out, n, workspace, bytes, stream);
}
