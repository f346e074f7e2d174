// Cooperative groups: reductions and scans of tiles, coalesced and partitioned groups, tiles larger than a warp,
// clusters.
// nvcc:
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void reductions(const int *x, int *out) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<8>(block);
    int t = block.thread_rank(), n = block.size();
    out[t] = cg::reduce(warp, x[t], cg::plus<int>());
    out[n + t] = cg::reduce(tile, x[t], cg::less<int>());
    out[2 * n + t] = cg::reduce(warp, x[t], cg::bit_xor<int>());
    out[3 * n + t] = cg::inclusive_scan(warp, x[t]);
    out[4 * n + t] = cg::exclusive_scan(tile, x[t], cg::plus<int>());
}

extern "C" __global__ void coalesced(const int *x, int *out, int *total) {
    int t = threadIdx.x;
    out[t] = 0;
    if (x[t] & 1) {
        auto group = cg::coalesced_threads();
        int sum = cg::reduce(group, x[t], cg::plus<int>());
        if (group.thread_rank() == 0) atomicAdd(total, sum);
        out[t] = group.shfl(x[t], 0) * 100 + group.size();
    }
}

extern "C" __global__ void partitions(const int *x, int *out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int t = threadIdx.x;
    auto by_label = cg::labeled_partition(warp, x[t] % 3);
    auto by_bit = cg::binary_partition(warp, (x[t] & 4) != 0);
    int label = cg::reduce(by_label, x[t], cg::plus<int>());
    out[t] = label * 1000 + cg::reduce(by_bit, x[t], cg::plus<int>());
}

extern "C" __global__ void large_tiles(const int *x, int *out) {
    __shared__ cg::block_tile_memory<256> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<128>(block);
    int t = block.thread_rank();
    out[t] = cg::reduce(tile, x[t], cg::plus<int>()) + tile.meta_group_rank();
    auto token = block.barrier_arrive();
    block.barrier_wait(std::move(token));
}

extern "C" __global__ void one(int *out) {
    auto block = cg::this_thread_block();
    cg::invoke_one(block, [&]() { atomicAdd(out, 1); });
    block.sync();
    auto warp = cg::tiled_partition<32>(block);
    int leader = cg::invoke_one_broadcast(warp, [&]() { return (int)warp.meta_group_rank() + 5; });
    atomicAdd(out + 1, leader);
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void cluster(int *x) {
    auto cluster = cg::this_cluster();
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    cluster.sync();
    int *other = cluster.map_shared_rank(s, cluster.num_blocks() - 1 - cluster.block_rank());
    x[threadIdx.x] = other[63 - threadIdx.x] + cluster.query_shared_rank(other);
    cluster.barrier_arrive();
    cluster.barrier_wait();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) two_blocks(int *x) {
    auto cluster = cg::this_cluster();
    x[cluster.thread_rank()] = cluster.block_index().x;
    cluster.sync();
}
#endif
