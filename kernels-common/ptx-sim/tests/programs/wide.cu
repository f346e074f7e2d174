// Wide numbers: 128-bit integers, chains of carries, and atomics on vectors and on 128 bits where the target has them.
// nvcc:
#include <cuda/atomic>

extern "C" __global__ void integers(const __int128 *x, __int128 *out, int n) {
    int t = threadIdx.x;
    __int128 a = x[t], b = x[(t + 1) % blockDim.x];
    int k = blockDim.x;
    out[t] = a * b;
    out[k + t] = b == 0 ? 0 : a / b;
    out[2 * k + t] = b == 0 ? 0 : a % b;
    out[3 * k + t] = (a << n) ^ (b >> n);
    out[4 * k + t] = (unsigned __int128)a < (unsigned __int128)b ? a - b : a + b;
}

extern "C" __global__ void carries(const unsigned *x, unsigned *out) {
    int t = threadIdx.x;
    unsigned a = x[2 * t], b = x[2 * t + 1], low, high, top;
    asm("add.cc.u32 %0, %3, %4; addc.cc.u32 %1, %4, %4; addc.u32 %2, 0, 0;"
        : "=r"(low), "=r"(high), "=r"(top) : "r"(a), "r"(b));
    out[6 * t] = low, out[6 * t + 1] = high, out[6 * t + 2] = top;
    asm("mad.lo.cc.u32 %0, %3, %4, %4; madc.hi.cc.u32 %1, %3, %4, %3; addc.u32 %2, 0, 0;"
        : "=r"(low), "=r"(high), "=r"(top) : "r"(a), "r"(b));
    out[6 * t + 3] = low, out[6 * t + 4] = high, out[6 * t + 5] = top;
}

// Every thread adds by another memory order and scope.
extern "C" __global__ void orders(int *x, double *y, int *seen) {
    cuda::atomic_ref<int, cuda::thread_scope_device> i(*x);
    cuda::atomic_ref<double, cuda::thread_scope_system> d(*y);
    switch (threadIdx.x % 4) {
        case 0: i.fetch_add(1, cuda::memory_order_relaxed); break;
        case 1: i.fetch_add(1, cuda::memory_order_release); break;
        case 2: i.fetch_sub(-1, cuda::memory_order_acq_rel); break;
        default: {
            int old = i.load(cuda::memory_order_acquire);
            while (!i.compare_exchange_weak(old, old + 1)) {
            }
        }
    }
    d.fetch_add(0.5);
    cuda::atomic_ref<int, cuda::thread_scope_block>(seen[blockIdx.x]).fetch_max(threadIdx.x, cuda::memory_order_relaxed);
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void vectors(float2 *a, float4 *b) {
    float2 v = make_float2(1, threadIdx.x);
    atomicAdd(a, v);
    float4 old = atomicAdd(b, make_float4(1, 2, 3, 4));
    if (old.x == 0) b[1] = old;
}

struct alignas(16) Pair {
    unsigned long long count, sum;
};

// A sum and a count that change together.
extern "C" __global__ void pairs(Pair *total, Pair *exchanged) {
    Pair old{0, 0};
    while (true) {
        Pair next{old.count + 1, old.sum + threadIdx.x};
        Pair found = atomicCAS(total, old, next);
        if (found.count == old.count && found.sum == old.sum) break;
        old = found;
    }
    Pair mine{threadIdx.x, ~0ull - threadIdx.x};
    Pair before = atomicExch(exchanged, mine);
    exchanged[1 + threadIdx.x] = before;
}
#endif
