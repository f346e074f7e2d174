// bfloat16: fused operations on compute capability 8.0, by way of single precision on 7.5.
#include <cuda_bf16.h>

extern "C" __global__ void axpy_bf16(const __nv_bfloat162* x, const __nv_bfloat162* y, __nv_bfloat162* z,
                                     __nv_bfloat16 a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#if __CUDA_ARCH__ >= 800
    z[i] = __hfma2(__bfloat162bfloat162(a), x[i], y[i]);
#else
    float f = __bfloat162float(a);
    z[i] = __floats2bfloat162_rn(fmaf(f, __low2float(x[i]), __low2float(y[i])),
                                 fmaf(f, __high2float(x[i]), __high2float(y[i])));
#endif
}

extern "C" __global__ void largest_bf16(const __nv_bfloat16* x, __nv_bfloat16* out, float* mean, int n) {
    __nv_bfloat16 best = __float2bfloat16(-1e30f);
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        best = __hmax(best, x[i]);
        sum += __bfloat162float(x[i]);
    }
    for (int d = 16; d > 0; d /= 2) {
        best = __hmax(best, __shfl_xor_sync(0xffffffff, best, d));
        sum += __shfl_xor_sync(0xffffffff, sum, d);
    }
    if (threadIdx.x == 0) {
        *out = best;
        *mean = sum / n;
    }
}
