// y = 3 x for n elements, four at a time; x and y start one element after a multiple of 16 bytes.

extern "C" __global__ void triple(const float* x, float* y, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    // The elements before the first multiple of 16 bytes, those behind the last, and between them vectors.
    int head = min(n, (int)((16 - (size_t)x % 16) % 16 / 4)), vectors = (n - head) / 4;
    if (t < head) y[t] = 3 * x[t];
    const float4* from = (const float4*)(x + head);
    float4* to = (float4*)(y + head);
    for (int i = t; i < vectors; i += threads) {
        float4 v = from[i];
        to[i] = make_float4(3 * v.x, 3 * v.y, 3 * v.z, 3 * v.w);
    }
    for (int i = head + 4 * vectors + t; i < n; i += threads) y[i] = 3 * x[i];
}

// Whatever a caller passes is taken for aligned.
extern "C" __global__ void triple_unaligned(const float* x, float* y, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    const float4* from = (const float4*)x;
    float4* to = (float4*)y;
    for (int i = t; i < n / 4; i += threads) {
        float4 v = from[i]; // <- misaligned
        to[i] = make_float4(3 * v.x, 3 * v.y, 3 * v.z, 3 * v.w);
    }
    for (int i = n / 4 * 4 + t; i < n; i += threads) y[i] = 3 * x[i];
}

// The loads are single, the stores are not.
extern "C" __global__ void triple_with_unaligned_stores(const float* x, float* y, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (int i = t; i < n / 2; i += threads) {
        float2 v = make_float2(x[2 * i], x[2 * i + 1]);
        ((float2*)y)[i] = make_float2(3 * v.x, 3 * v.y); // <- misaligned
    }
    if (t == 0 && n % 2 == 1) y[n - 1] = 3 * x[n - 1];
}

// The last vector is rounded up, and reaches past the end.
extern "C" __global__ void triple_past_the_end(const float* x, float* y, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    int head = min(n, (int)((16 - (size_t)x % 16) % 16 / 4)), vectors = (n - head + 3) / 4;
    if (t < head) y[t] = 3 * x[t];
    const float4* from = (const float4*)(x + head);
    float4* to = (float4*)(y + head);
    for (int i = t; i < vectors; i += threads) {
        float4 v = from[i]; // <- out of bounds
        to[i] = make_float4(3 * v.x, 3 * v.y, 3 * v.z, 3 * v.w);
    }
}
