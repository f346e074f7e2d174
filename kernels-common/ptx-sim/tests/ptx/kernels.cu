// Kernels whose counters and results the tests know. Compiled with
//   nvcc -ptx -arch=compute_75 --fmad=false kernels.cu
#include <cooperative_groups.h>

typedef unsigned long long u64;
#define KERNEL extern "C" __global__ void

KERNEL vector_add(const float* x, const float* y, float* z, u64 n) {
    u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

KERNEL vector_add_packets(const float4* x, const float4* y, float4* z, u64 packets) {
    u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (i < packets) {
        float4 a = x[i], b = y[i];
        z[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
}

// Trees in shared memory: one element a thread, one partial sum a block.
KERNEL tree_interleaved(const float* x, float* out) {
    __shared__ float s[256];
    unsigned t = threadIdx.x;
    s[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

KERNEL tree_strided(const float* x, float* out) {
    __shared__ float s[256];
    unsigned t = threadIdx.x;
    s[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        unsigned i = 2 * stride * t;
        if (i < blockDim.x) s[i] += s[i + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

KERNEL tree_sequential(const float* x, float* out) {
    __shared__ float s[256];
    unsigned t = threadIdx.x;
    s[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

__device__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(~0u, v, offset);
    return v;
}

KERNEL shuffle_sum(const float* x, float* out, u64 n) {
    __shared__ float s[32];
    float v = 0;
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) v += x[i];
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0;
        v = warp_sum(v);
        if (threadIdx.x == 0) atomicAdd(out, v);
    }
}

KERNEL one_atomic_per_element(const float* x, float* out) {
    atomicAdd(out, x[blockIdx.x * blockDim.x + threadIdx.x]);
}

// One thread of each warp sums the warp's elements.
KERNEL warp_leader(const float* x, float* out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 32 == 0) {
        float v = 0;
        for (int k = 0; k < 32; k++) v += x[i + k];
        atomicAdd(out, v);
    }
}

// Partial sums, a barrier of the whole grid, and the first block sums the partials.
KERNEL grid_barrier_sum(const float* x, float* partials, float* out, u64 n) {
    __shared__ float s[256];
    unsigned t = threadIdx.x;
    float v = 0;
    for (u64 i = blockIdx.x * (u64)blockDim.x + t; i < n; i += (u64)gridDim.x * blockDim.x) v += x[i];
    s[t] = v;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) partials[blockIdx.x] = s[0];
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 0 && t == 0) {
        float sum = 0;
        for (unsigned k = 0; k < gridDim.x; k++) sum += partials[k];
        *out = sum;
    }
}

// Partial sums; the block that finishes last sums them.
KERNEL last_block_sum(const float* x, float* partials, unsigned* counter, float* out, u64 n) {
    __shared__ float s[256];
    __shared__ bool last;
    unsigned t = threadIdx.x;
    float v = 0;
    for (u64 i = blockIdx.x * (u64)blockDim.x + t; i < n; i += (u64)gridDim.x * blockDim.x) v += x[i];
    s[t] = v;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) {
        partials[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        float sum = 0;
        for (unsigned k = 0; k < gridDim.x; k++) sum += ((volatile float*)partials)[k];
        *out = sum;
    }
}

KERNEL dot_packets(const float4* x, const float4* y, float* out, u64 packets) {
    __shared__ float s[16];
    float a0 = 0, a1 = 0, a2 = 0, a3 = 0;
    for (u64 i = blockIdx.x * 512ull + threadIdx.x; i < packets; i += 512ull * gridDim.x) {
        float4 u = x[i], v = y[i];
        a0 = fmaf(u.x, v.x, a0);
        a1 = fmaf(u.y, v.y, a1);
        a2 = fmaf(u.z, v.z, a2);
        a3 = fmaf(u.w, v.w, a3);
    }
    float v = warp_sum((a0 + a1) + (a2 + a3));
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = warp_sum(threadIdx.x < 16 ? s[threadIdx.x] : 0);
        if (threadIdx.x == 0) atomicAdd(out, v);
    }
}

// Transposes through shared memory, blocks of 32 x 8 threads; the second pads each row of the tile.
template <int COLUMNS> __device__ void transpose(const float* in, float* out, unsigned width, unsigned height) {
    __shared__ float tile[32][COLUMNS];
    unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (unsigned j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (unsigned j = 0; j < 32; j += 8) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

KERNEL transpose_32(const float* in, float* out, unsigned width, unsigned height) {
    transpose<32>(in, out, width, height);
}

KERNEL transpose_33(const float* in, float* out, unsigned width, unsigned height) {
    transpose<33>(in, out, width, height);
}

// A dot product by a tree: one element a thread, one atomic addition a block.
KERNEL dot_tree(const float* x, const float* y, float* out) {
    __shared__ float s[256];
    unsigned t = threadIdx.x;
    u64 i = blockIdx.x * (u64)blockDim.x + t;
    s[t] = x[i] * y[i];
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, s[0]);
}
