// Each tile of 8 lanes sorts its 8 elements by their ranks, through shared memory; the tiles of a warp take branches of
// their own, by whether they have to be sorted up or down.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int THREADS = 64, TILE = 8;

extern "C" __global__ void sort_tiles(int* x) {
    __shared__ int s[THREADS], sorted[THREADS];
    auto tile = cg::tiled_partition<TILE>(cg::this_thread_block());
    int t = threadIdx.x, lane = tile.thread_rank(), first = t - lane;
    int value = s[t] = x[blockIdx.x * THREADS + t];
    if (first / TILE % 2 == 0) {
        tile.sync();
        int rank = 0;
        for (int i = 0; i < TILE; ++i) rank += s[first + i] < value || (s[first + i] == value && i < lane);
        sorted[first + rank] = value;
    } else {
        tile.sync();
        int rank = 0;
        for (int i = 0; i < TILE; ++i) rank += s[first + i] > value || (s[first + i] == value && i < lane);
        sorted[first + rank] = value;
    }
    tile.sync();
    x[blockIdx.x * THREADS + t] = sorted[t];
}

// One kind of tile does not wait until all of its elements are there.
extern "C" __global__ void sort_tiles_without_barrier(int* x) {
    __shared__ int s[THREADS], sorted[THREADS];
    auto tile = cg::tiled_partition<TILE>(cg::this_thread_block());
    int t = threadIdx.x, lane = tile.thread_rank(), first = t - lane;
    int value = s[t] = x[blockIdx.x * THREADS + t]; // <- race
    if (first / TILE % 2 == 0) {
        tile.sync();
        int rank = 0;
        for (int i = 0; i < TILE; ++i) rank += s[first + i] < value || (s[first + i] == value && i < lane);
        sorted[first + rank] = value;
    } else {
        int rank = 0;
        for (int i = 0; i < TILE; ++i) {
            rank += s[first + i] > value || (s[first + i] == value && i < lane); // <- race
        }
        sorted[first + rank] = value;
    }
    tile.sync();
    x[blockIdx.x * THREADS + t] = sorted[t];
}

// The tiles wait for their own lanes, but the last step looks into the neighbour's.
extern "C" __global__ void sort_tiles_from_the_next(int* x) {
    __shared__ int s[THREADS], sorted[THREADS];
    auto tile = cg::tiled_partition<TILE>(cg::this_thread_block());
    int t = threadIdx.x, lane = tile.thread_rank(), first = t - lane;
    int value = s[t] = x[blockIdx.x * THREADS + t];
    tile.sync();
    int rank = 0;
    for (int i = 0; i < TILE; ++i) rank += s[first + i] < value || (s[first + i] == value && i < lane);
    sorted[first + rank] = value; // <- race
    tile.sync();
    int next = t / 32 * 32 + (t + TILE) % 32;
    x[blockIdx.x * THREADS + t] = sorted[next]; // <- race
}

// The whole warp is waited for, in a branch that only some of its tiles take; the others wait for the block.
extern "C" __global__ void sort_tiles_by_warps(int* x) {
    __shared__ int s[THREADS], sorted[THREADS];
    auto tile = cg::tiled_partition<TILE>(cg::this_thread_block());
    int t = threadIdx.x, lane = tile.thread_rank(), first = t - lane;
    int value = s[t] = x[blockIdx.x * THREADS + t];
    int rank = 0;
    if (first / TILE % 2 == 0) {
        __syncwarp(); // <- (deadlock, divergent barrier)
        for (int i = 0; i < TILE; ++i) rank += s[first + i] < value || (s[first + i] == value && i < lane);
    } else {
        tile.sync();
        for (int i = 0; i < TILE; ++i) rank += s[first + i] > value || (s[first + i] == value && i < lane);
    }
    sorted[first + rank] = value;
    __syncthreads(); // <- (deadlock, divergent barrier)
    x[blockIdx.x * THREADS + t] = sorted[t];
}
