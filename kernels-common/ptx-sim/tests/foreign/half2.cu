// Matrix times vector in half precision, two columns at a time.
#include <cuda_fp16.h>

// A warp for each row. Lanes add up in half precision, the warp in single.
extern "C" __global__ void matvec(const half2* __restrict__ a, const half2* __restrict__ x, half* y, int rows,
                                  int pairs) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    half2 sum = __float2half2_rn(0.0f);
    for (int i = lane; i < pairs; i += 32) sum = __hfma2(a[(size_t)row * pairs + i], x[i], sum);
    float total = __low2float(sum) + __high2float(sum);
    for (int d = 16; d > 0; d /= 2) total += __shfl_down_sync(0xffffffff, total, d);
    if (lane == 0) y[row] = __float2half_rn(total);
}

// Soft clipping and its like: comparisons, selections, conversions of halves.
extern "C" __global__ void clip(const half2* x, half2* y, unsigned char* flags, short* rounded, int n,
                                half low, half high) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    half2 v = x[i];
    half2 l = __half2half2(low), h = __half2half2(high);
    half2 clipped = __hmin2(__hmax2(v, l), h);
    half2 outside = __hne2(clipped, v);
    y[i] = __hsub2(__hadd2(clipped, clipped), __hmul2(outside, __floats2half2_rn(0.5f, 0.25f)));
    flags[i] = __hbgt2(v, l) | __hisnan(__low2half(v)) << 1 | (__hlt(__high2half(v), high) ? 4 : 0);
    rounded[i] = __half2short_rn(__low2half(v)) + __half2short_rd(__high2half(v));
}
