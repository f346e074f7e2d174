// Ways to move data: cache hints, vectors, unaligned parts, copies of bytes, assembler in between.

typedef unsigned long long u64;

// Hints change nothing about the result.
extern "C" __global__ void hints(const float4* __restrict__ x, float4* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 a = __ldcs(x + i), b = __ldg(x + (i + 1) % n), c = __ldca(x + (i + 2) % n), d = __ldcg(x + (i + 3) % n);
    float4 e = __ldlu(y + i);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(x + i));
    __stcs(y + i, make_float4(a.x + e.w, b.y - e.z, c.z * 2, d.w));
    __stcg(y + n + i, d);
    __stwt(y + 2 * n + i, c);
}

// Copies bytes from any address to any other, words where both are aligned alike.
extern "C" __global__ void copy(const unsigned char* from, unsigned char* to, size_t bytes) {
    size_t thread = blockIdx.x * (size_t)blockDim.x + threadIdx.x, threads = gridDim.x * (size_t)blockDim.x;
    if (((size_t)from & 7) == ((size_t)to & 7)) {
        size_t head = -(size_t)to & 7;
        if (head > bytes) head = bytes;
        size_t words = (bytes - head) / 8, tail = head + words * 8;
        if (thread < head) to[thread] = from[thread];
        for (size_t i = thread; i < words; i += threads) ((u64*)(to + head))[i] = ((const u64*)(from + head))[i];
        if (thread < bytes - tail) to[tail + thread] = from[tail + thread];
    } else {
        for (size_t i = thread; i < bytes; i += threads) to[i] = from[i];
    }
}

// A generic pointer that is to shared, local or global memory, as the lane has it.
extern "C" __global__ void anywhere(const int* x, int* y, int n) {
    __shared__ int s[64];
    int local[4];
    int t = threadIdx.x;
    s[t] = t * 3;
    for (int k = 0; k < 4; ++k) local[k] = t * 5 + k;
    __syncthreads();
    const int* p = t % 3 == 0 ? &s[(t + 1) % 64] : t % 3 == 1 ? &local[t & 3] : x + t % n;
    y[t] = *p + (__isShared(p) ? 10000 : __isLocal(p) ? 20000 : __isGlobal(p) ? 30000 : 0);
}

// Special registers and assembler.
extern "C" __global__ void registers(unsigned* out, u64* times) {
    unsigned lane, le, gt;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(le));
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(gt));
    unsigned bits;
    asm("{\n\t.reg .pred p;\n\tsetp.lt.u32 p, %1, 7;\n\t"
        "@p bfe.u32 %0, %2, 3, 9;\n\t@!p bfi.b32 %0, %1, %2, 8, 4;\n\t}"
        : "=r"(bits)
        : "r"(lane), "r"(blockIdx.y * 0x1357u + threadIdx.x * 0x01234567u));
    unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
    unsigned i = (block * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[i] = lane + (le ^ ~gt) + bits;
    u64 before = clock64(), now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    __nanosleep(1);
    times[2 * i] = clock64() - before;
    times[2 * i + 1] = now;
}
