// The block-wide algorithms of CUB.
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

// Sorts each block's keys together with their values, four items a thread.
extern "C" __global__ void __launch_bounds__(64) cub_sort(const float* keys, const unsigned* values, float* sorted_keys,
                                                          unsigned* sorted_values, int n) {
    using Sort = cub::BlockRadixSort<float, 64, 4, unsigned>;
    __shared__ typename Sort::TempStorage storage;
    float k[4];
    unsigned v[4];
    int first = blockIdx.x * 256 + threadIdx.x * 4;
    for (int j = 0; j < 4; ++j) {
        k[j] = first + j < n ? keys[first + j] : __int_as_float(0x7f800000);
        v[j] = first + j < n ? values[first + j] : 0;
    }
    Sort(storage).Sort(k, v);
    for (int j = 0; j < 4; ++j) {
        if (first + j < n) {
            sorted_keys[first + j] = k[j];
            sorted_values[first + j] = v[j];
        }
    }
}

extern "C" __global__ void __launch_bounds__(96) cub_scan(const int* x, long long* prefix, long long* total, int n) {
    using Scan = cub::BlockScan<long long, 96>;
    using Reduce = cub::BlockReduce<int, 96>;
    __shared__ union {
        typename Scan::TempStorage scan;
        typename Reduce::TempStorage reduce;
    } storage;
    int i = blockIdx.x * 96 + threadIdx.x;
    long long value = i < n ? x[i] : 0, before, sum;
    Scan(storage.scan).ExclusiveSum(value, before, sum);
    __syncthreads();
    int largest = Reduce(storage.reduce).Reduce(i < n ? x[i] : -0x7fffffff, [](int a, int b) { return a > b ? a : b; });
    if (i < n) prefix[i] = before;
    if (threadIdx.x == 0) {
        total[2 * blockIdx.x] = sum;
        total[2 * blockIdx.x + 1] = largest;
    }
}
