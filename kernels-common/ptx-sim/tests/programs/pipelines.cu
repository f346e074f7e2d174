// Asynchronous copies: pipelines of a thread and of a block, barriers, and where the target has them bulk copies.
// nvcc:
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#if __CUDA_ARCH__ >= 900
#include <cuda/ptx>
#endif

namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init

// Four groups of 128 words, waited for one after another.
extern "C" __global__ void groups(const float *x, float *out) {
    __shared__ float s[4][128];
    int t = threadIdx.x;
    for (int k = 0; k < 4; k++) {
        __pipeline_memcpy_async(&s[k][t], x + k * 128 + t, 4);
        __pipeline_commit();
    }
    float sum = 0;
    __pipeline_wait_prior(3);
    sum += s[0][t];
    __pipeline_wait_prior(2);
    sum += 10 * s[1][t];
    __pipeline_wait_prior(0);
    out[t] = sum + 100 * s[2][t] + 1000 * s[3][t];
}

// The first n packets, and zeros; reversed.
extern "C" __global__ void zeros(const float4 *x, float4 *out, int n) {
    __shared__ float4 s[128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], x + t, 16, t < n ? 0 : 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[t] = s[127 - t];
}

// Chunks of one word a thread through two stages; each chunk is reversed.
extern "C" __global__ void stages(const int *x, int *out, int chunks) {
    constexpr int stages = 2;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    extern __shared__ int s[];
    auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    int n = block.size();
    for (int chunk = 0, fetched = 0; chunk < chunks; chunk++) {
        for (; fetched < chunks && fetched < chunk + stages; fetched++) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, s + fetched % stages * n, x + fetched * n, cuda::aligned_size_t<4>(4 * n), pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        out[chunk * n + block.thread_rank()] = s[chunk % stages * n + n - 1 - block.thread_rank()];
        pipeline.consumer_release();
    }
}

// One warp fetches, the other two add 1.
extern "C" __global__ void roles(const int *x, int *out, int chunks) {
    constexpr int stages = 2;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    __shared__ int s[stages * 64];
    auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipeline = cuda::make_pipeline(cg::this_thread_block(), &state, role);
    for (int chunk = 0; chunk < chunks; chunk++) {
        int *stage = s + chunk % stages * 64;
        if (role == cuda::pipeline_role::producer) {
            pipeline.producer_acquire();
            cuda::memcpy_async(stage + threadIdx.x * 2, x + chunk * 64 + threadIdx.x * 2, 8, pipeline);
            pipeline.producer_commit();
        } else {
            pipeline.consumer_wait();
            out[chunk * 64 + threadIdx.x - 32] = stage[threadIdx.x - 32] + 1;
            pipeline.consumer_release();
        }
    }
}

// A barrier that the odd threads leave after its second phase.
extern "C" __global__ void phases(int *x) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    x[threadIdx.x] *= 2;
    barrier.arrive_and_wait();
    int next = x[(threadIdx.x + 1) % blockDim.x];
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
    x[threadIdx.x] = next;
    if (threadIdx.x % 2) {
        barrier.arrive_and_drop();
        return;
    }
    barrier.arrive_and_wait();
    x[threadIdx.x] += x[threadIdx.x + 1];
    barrier.arrive_and_wait();
}

// 64 packets that a barrier counts, reversed.
extern "C" __global__ void counted(const int4 *x, int4 *out) {
    __shared__ int4 s[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    block.sync();
    cuda::memcpy_async(block, s, x, cuda::aligned_size_t<16>(sizeof s), barrier);
    barrier.arrive_and_wait();
    out[threadIdx.x] = s[63 - threadIdx.x];
}

// Parts of a block that wait for their own copies.
extern "C" __global__ void tiles(const int *x, int *out, int n) {
    extern __shared__ int s[];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, s, x, sizeof(int) * n);
    cg::wait(block);
    for (int i = block.thread_rank(); i < n; i += block.size()) out[i] = s[n - 1 - i];
    block.sync();
    auto warp = cg::tiled_partition<32>(block);
    int first = warp.meta_group_rank() * 32;
    cg::memcpy_async(warp, s + first, x + first, sizeof(int) * 32);
    cg::wait(warp);
    out[n + first + warp.thread_rank()] = s[first + (warp.thread_rank() ^ 1)];
}

#if __CUDA_ARCH__ >= 900
// 256 words by one bulk copy; one is added to each; by another bulk copy back, and added to sums.
extern "C" __global__ void bulk(const int *x, int *out, int *sums) {
    __shared__ alignas(128) int s[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    }
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(s, x, cuda::aligned_size_t<16>(sizeof s), barrier);
        token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof s);
    } else {
        token = barrier.arrive();
    }
    barrier.wait(std::move(token));
    s[threadIdx.x] += 1;
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out, s, sizeof s);
        cuda::ptx::cp_reduce_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, cuda::ptx::op_add, sums, s,
                                        sizeof s);
        cuda::ptx::cp_async_bulk_commit_group();
        cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());
    }
}
#endif
