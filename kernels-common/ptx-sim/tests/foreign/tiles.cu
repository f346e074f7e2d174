// Cooperative groups: parts of a warp that work on their own.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

// One sum, one maximum for every SIZE elements.
template <int SIZE> __device__ void reduce_tiles(const int* x, int* sums, int* maxima, int n) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<SIZE>(block);
    int i = blockIdx.x * block.size() + block.thread_rank();
    int value = i < n ? x[i] : 0;
    int sum = cg::reduce(tile, value, cg::plus<int>());
    int largest = cg::reduce(tile, value, cg::greater<int>());
    int out = blockIdx.x * (block.size() / SIZE) + tile.meta_group_rank();
    if (tile.thread_rank() == 0) {
        sums[out] = sum;
        maxima[out] = largest;
    }
}

extern "C" __global__ void reduce_16(const int* x, int* sums, int* maxima, int n) {
    reduce_tiles<16>(x, sums, maxima, n);
}
extern "C" __global__ void reduce_8(const int* x, int* sums, int* maxima, int n) {
    reduce_tiles<8>(x, sums, maxima, n);
}

// Tiles of four lanes take different ways through the code: each finds the collatz length of its own number, all four
// lanes together.
extern "C" __global__ void collatz(const unsigned* start, unsigned* steps, int n) {
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    int task = (blockIdx.x * blockDim.x + threadIdx.x) / 4;
    if (task >= n) return;
    unsigned long long x = start[task];
    unsigned length = 0;
    while (x != 1) {
        if (tile.any(x & 1)) x = 3 * x + 1;
        else x /= 2;
        length += tile.shfl(1, length % 4);
    }
    tile.sync();
    unsigned total = cg::reduce(tile, length, cg::plus<unsigned>());
    if (tile.thread_rank() == 3) steps[task] = total / 4;
}

// Ranks within the lanes that took a branch, and a prefix over a tile.
extern "C" __global__ void ranks(const int* x, int* rank, int* size, int* before, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int value = i < n ? x[i] : 0;
    int sum = cg::exclusive_scan(warp, value);
    if (i < n) before[i] = sum;
    bool odd = value & 1;
    auto group = cg::binary_partition(warp, odd);
    if (i < n) {
        rank[i] = group.thread_rank();
        size[i] = group.size();
    }
}
