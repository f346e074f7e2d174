// CUB's algorithms for warps and blocks.
// nvcc:
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>

constexpr int threads = 128;

extern "C" __global__ void sums(const int *x, int *out) {
    using Reduce = cub::BlockReduce<int, threads>;
    using Raking = cub::BlockReduce<int, threads, cub::BLOCK_REDUCE_RAKING>;
    using Warp = cub::WarpReduce<int>;
    __shared__ union {
        typename Reduce::TempStorage reduce;
        typename Raking::TempStorage raking;
        typename Warp::TempStorage warp[4];
    } s;
    int v = x[threadIdx.x];
    int sum = Reduce(s.reduce).Sum(v);
    __syncthreads();
    int max = Raking(s.raking).Reduce(v, cuda::maximum<>{});
    __syncthreads();
    int segment = Warp(s.warp[threadIdx.x / 32]).HeadSegmentedSum(v, threadIdx.x % 5 == 0);
    if (threadIdx.x == 0) out[0] = sum, out[1] = max;
    out[2 + threadIdx.x] = threadIdx.x % 32 % 5 == 0 && threadIdx.x < 32 ? segment : 0;
}

extern "C" __global__ void scans(const int *x, int *out) {
    using Scan = cub::BlockScan<int, threads>;
    using Load = cub::BlockLoad<int, threads, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Store = cub::BlockStore<int, threads, 4, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ union {
        typename Scan::TempStorage scan;
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } s;
    int v[4];
    Load(s.load).Load(x, v);
    __syncthreads();
    Scan(s.scan).ExclusiveSum(v, v);
    __syncthreads();
    Store(s.store).Store(out, v);
}

extern "C" __global__ void sorts(const int *keys, int *out, float *reals) {
    using Radix = cub::BlockRadixSort<int, threads, 2>;
    using Down = cub::BlockRadixSort<float, threads, 2>;
    using Merge = cub::BlockMergeSort<int, threads, 2>;
    __shared__ union {
        typename Radix::TempStorage radix;
        typename Down::TempStorage down;
        typename Merge::TempStorage merge;
    } s;
    int v[2];
    cub::LoadDirectBlocked(threadIdx.x, keys, v);
    Radix(s.radix).Sort(v);
    cub::StoreDirectBlocked(threadIdx.x, out, v);
    __syncthreads();
    float f[2];
    cub::LoadDirectBlocked(threadIdx.x, reals, f);
    Down(s.down).SortDescending(f);
    cub::StoreDirectBlocked(threadIdx.x, reals, f);
    __syncthreads();
    cub::LoadDirectBlocked(threadIdx.x, keys, v);
    Merge(s.merge).Sort(v, cuda::std::greater<>{});
    cub::StoreDirectBlocked(threadIdx.x, out + 2 * threads, v);
}

extern "C" __global__ void heads(const int *x, int *out) {
    using Flags = cub::BlockDiscontinuity<int, threads>;
    __shared__ typename Flags::TempStorage s;
    int v[2], flags[2];
    cub::LoadDirectBlocked(threadIdx.x, x, v);
    Flags(s).FlagHeads(flags, v, cuda::std::not_equal_to<>{});
    cub::StoreDirectBlocked(threadIdx.x, out, flags);
}
