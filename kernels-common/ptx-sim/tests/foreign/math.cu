// The functions of the mathematical library, as the compiler expands them.

extern "C" __global__ void single(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], b = y[i], *o = out + i;
    o[0 * n] = sinf(a);
    o[1 * n] = cosf(a);
    o[2 * n] = tanf(a);
    o[3 * n] = expf(b);
    o[4 * n] = logf(fabsf(a));
    o[5 * n] = powf(fabsf(a), b);
    o[6 * n] = tanhf(b);
    o[7 * n] = atan2f(a, b);
    o[8 * n] = erff(b);
    o[9 * n] = cbrtf(a);
    o[10 * n] = hypotf(a, b);
    o[11 * n] = exp2f(b);
    o[12 * n] = log2f(fabsf(a));
    o[13 * n] = asinf(b / 16);
    o[14 * n] = acosf(b / 16);
    o[15 * n] = log1pf(fabsf(b));
    o[16 * n] = expm1f(b);
    o[17 * n] = fmodf(a, b);
    o[18 * n] = a / b;
    o[19 * n] = sqrtf(fabsf(a));
    o[20 * n] = ldexpf(b, (int)b);
    o[21 * n] = sinhf(b);
}

extern "C" __global__ void fast(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], *o = out + i;
    o[0 * n] = __sinf(a);
    o[1 * n] = __cosf(a);
    o[2 * n] = __expf(a);
    o[3 * n] = __logf(fabsf(a));
    o[4 * n] = __powf(fabsf(a), 1.5f);
    o[5 * n] = __frcp_rn(a);
    o[6 * n] = __fsqrt_rn(fabsf(a));
    o[7 * n] = __frsqrt_rn(fabsf(a));
    o[8 * n] = __tanf(a);
}

extern "C" __global__ void wide(const double* x, const double* y, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double a = x[i], b = y[i], *o = out + i;
    o[0 * n] = sin(a);
    o[1 * n] = cos(a);
    o[2 * n] = exp(b);
    o[3 * n] = log(fabs(a));
    o[4 * n] = pow(fabs(a), b);
    o[5 * n] = tanh(b);
    o[6 * n] = atan(a);
    o[7 * n] = sqrt(fabs(a));
    o[8 * n] = a / b;
    o[9 * n] = cbrt(a);
    o[10 * n] = fmod(a, b);
    o[11 * n] = rsqrt(fabs(a));
    o[12 * n] = exp2(b);
    o[13 * n] = log1p(fabs(b));
}
