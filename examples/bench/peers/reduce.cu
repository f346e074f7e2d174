// cub::DeviceReduce, by element type.

#include "reduce.cuh"

int32_t rungs_reduce(int32_t reduction, int32_t type, const void *x, void *out, uint64_t n, void *workspace,
                     size_t *bytes, cudaStream_t stream) {
    switch (type) {
    case RUNGS_F32:
        return reduce_f32(reduction, x, out, n, workspace, *bytes, stream);
    case RUNGS_F64:
        return reduce_f64(reduction, x, out, n, workspace, *bytes, stream);
    case RUNGS_F16:
        return reduce_f16(reduction, x, out, n, workspace, *bytes, stream);
    case RUNGS_BF16:
        return reduce_bf16(reduction, x, out, n, workspace, *bytes, stream);
    case RUNGS_I32:
        return reduce_i32(reduction, x, out, n, workspace, *bytes, stream);
    case RUNGS_I64:
        return reduce_i64(reduction, x, out, n, workspace, *bytes, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
