// Atomic operations of all kinds and types, on global and on shared memory.
#include <cuda_fp16.h>
#include <cuda/atomic>

typedef unsigned long long u64;

// Numbers are small and whole, so that every order of additions gives the same sums.
extern "C" __global__ void sums(const int* x, int n, float* f32, double* f64, half* f16, half2* f16x2) {
    __shared__ double block_sum;
    if (threadIdx.x == 0) block_sum = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int value = x[i];
        atomicAdd(f32, (float)value);
        atomicAdd(&block_sum, (double)value);
        atomicAdd(f16 + i % 3, __int2half_rn(value));
        atomicAdd(f16x2, __floats2half2_rn(value, -value));
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(f64, block_sum);
}

// What was there before an addition is a ticket: each occurs once.
extern "C" __global__ void tickets(unsigned* counters, u64* wide, unsigned* seen, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(seen + atomicAdd(counters, 1), 1);
    atomicAdd(seen + n + atomicInc(counters + 1, 9), 1);
    atomicAdd(seen + 2 * n + atomicDec(counters + 2, 9), 1);
    atomicAdd(seen + 3 * n + (unsigned)(atomicAdd(wide, 1ull << 32) >> 32), 1);
    atomicAdd(seen + 4 * n + atomicSub(counters + 3, 1), 1);
}

extern "C" __global__ void extremes(const int* x, const u64* wide, int n, int* smallest, unsigned* largest,
                                    long long* signed_wide, u64* unsigned_wide, unsigned* bits, u64* wide_bits) {
    __shared__ int low;
    __shared__ u64 all;
    if (threadIdx.x == 0) {
        low = 0x7fffffff;
        all = ~0ull;
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicMin(&low, x[i]);
        atomicMax(largest, (unsigned)x[i]);
        atomicMin(signed_wide, (long long)wide[i]);
        atomicMax(signed_wide + 1, (long long)wide[i]);
        atomicMax(unsigned_wide, wide[i]);
        atomicMin(unsigned_wide + 1, wide[i]);
        atomicAnd(bits, x[i] | 0xff);
        atomicOr(bits + 1, x[i] & 0xf0f0);
        atomicXor(bits + 2, x[i]);
        atomicAnd(&all, wide[i] | 0xffff0000ffff0000ull);
        atomicXor(wide_bits + 1, wide[i]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMin(smallest, low);
        atomicAnd(wide_bits, all);
        atomicOr(wide_bits + 2, all);
    }
}

// A product and a maximum of floats, for which there is no atomic operation: a loop around compare-and-swap.
extern "C" __global__ void loops(const float* x, int n, double* product, float* largest) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64* word = reinterpret_cast<u64*>(product);
    u64 old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __double_as_longlong(__longlong_as_double(assumed) * x[i]));
    } while (assumed != old);
    // Floats of one sign compare as integers do.
    if (x[i] >= 0) atomicMax(reinterpret_cast<int*>(largest), __float_as_int(x[i]));
    else atomicMin(reinterpret_cast<unsigned*>(largest), __float_as_uint(x[i]));
}

// Scoped atomics with memory orders. A message goes from block to block: whoever reads the flag sees the data.
// The launch has to be cooperative.
extern "C" __global__ void relay(int* data, unsigned* flag, int* last) {
    if (threadIdx.x != 0) return;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> turn(*flag);
    while (turn.load(cuda::memory_order_acquire) != blockIdx.x) {
    }
    *data = *data * 3 + (int)blockIdx.x;
    if (blockIdx.x == gridDim.x - 1) *last = *data;
    cuda::atomic_ref<unsigned, cuda::thread_scope_block> nobody_else(data[1 + blockIdx.x] ? flag[1] : flag[2]);
    nobody_else.fetch_add(1, cuda::memory_order_relaxed);
    turn.store(blockIdx.x + 1, cuda::memory_order_release);
}

extern "C" __global__ void exchanges(int* values, float* floats, u64* wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // A chain: whoever puts a value in takes another one out. The values at the end are those at the start.
    int mine = i;
    float f = i;
    u64 w = i;
    for (int k = 0; k < 3; ++k) {
        mine = atomicExch(values + n, mine);
        f = atomicExch(floats + n, f);
        w = atomicExch_block(wide + n + blockIdx.x, w);
    }
    values[i] = mine;
    floats[i] = f;
    wide[i] = w;
}
