// Numbers side by side in a register: the SIMD intrinsics for bytes and halves, and the 8-bit floating formats.
// nvcc:
#include <cuda_fp8.h>

#define EACH(operation, index) out[(index) * 256 + threadIdx.x] = operation(a[threadIdx.x], b[threadIdx.x]);

extern "C" __global__ void bytes(const unsigned *a, const unsigned *b, unsigned *out) {
    EACH(__vadd4, 0)
    EACH(__vaddss4, 1)
    EACH(__vsubus4, 2)
    EACH(__vavgs4, 3)
    EACH(__vabsdiffu4, 4)
    EACH(__vmaxs4, 5)
    EACH(__vminu4, 6)
    EACH(__vcmpgts4, 7)
    EACH(__vsads4, 8)
    EACH(__vsadu4, 9)
    EACH(__vhaddu4, 10)
    EACH(__vseteq4, 11)
}

extern "C" __global__ void halves(const unsigned *a, const unsigned *b, unsigned *out) {
    EACH(__vadd2, 0)
    EACH(__vaddss2, 1)
    EACH(__vsubus2, 2)
    EACH(__vavgs2, 3)
    EACH(__vabsdiffu2, 4)
    EACH(__vmaxs2, 5)
    EACH(__vminu2, 6)
    EACH(__vcmpgts2, 7)
    EACH(__vsads2, 8)
    EACH(__vsadu2, 9)
    EACH(__vhaddu2, 10)
    EACH(__vseteq2, 11)
}

extern "C" __global__ void dots(const unsigned *a, const unsigned *b, unsigned *out) {
    int t = threadIdx.x;
    out[t] = __dp4a(a[t], b[t], 5u);
    out[256 + t] = __dp4a((int)a[t], (int)b[t], -5);
    out[512 + t] = __dp2a_lo((int)a[t], (int)b[t], 7);
    out[768 + t] = __dp2a_hi(a[t], b[t], 7u);
}

// To the formats, and back.
extern "C" __global__ void narrow(const float *x, unsigned char *out, float *back, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_fp8_e4m3 e4m3(x[i]);
    __nv_fp8_e5m2 e5m2(x[i]);
    out[i] = e4m3.__x;
    out[n + i] = e5m2.__x;
    back[i] = float(e4m3);
    back[n + i] = float(e5m2);
    __nv_fp8x2_e4m3 pair(make_float2(x[i], -x[i]));
    float2 both = float2(pair);
    back[2 * n + i] = both.x + 2 * both.y;
}
