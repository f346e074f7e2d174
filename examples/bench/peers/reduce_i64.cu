#include "reduce.cuh"

cudaError_t reduce_i64(int32_t reduction, const void *x, void *out, uint64_t n, void *workspace, size_t &bytes,
                      cudaStream_t stream) {
    return reduce<int64_t, int64_t>(reduction, x, out, n, workspace, bytes, stream);
}
