// A cooperative kernel, a reduction in dynamic shared memory, warp operations. See README.md for how the PTX is made.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

template <class T> __global__ void tree(const T* __restrict__ x, size_t n, T* out) {
    extern __shared__ __align__(16) unsigned char raw[];
    T* s = reinterpret_cast<T*>(raw);
    T sum = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) sum += x[i];
    s[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned d = blockDim.x / 2; d > 0; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
template __global__ void tree<float>(const float*, size_t, float*);
template __global__ void tree<double>(const double*, size_t, double*);

__global__ void grid(float* x, int n) {
    cg::grid_group group = cg::this_grid();
    int i = group.thread_rank();
    float v = i < n ? x[i] : 0;
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
    group.sync();
    if (threadIdx.x % 32 == 0) atomicAdd(x, v);
}
