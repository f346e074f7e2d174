// Sums of 128 elements by blocks of 128: each warp adds up its own, then the first adds up the warps' sums.

extern "C" __global__ void two_stage_sum(const int* x, int* sums) {
    __shared__ int warps[4];
    int t = threadIdx.x, sum = x[blockIdx.x * 128 + t];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (t % 32 == 0) warps[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < 4 ? warps[t] : 0;
        for (int d = 2; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
        if (t == 0) warps[0] = sum;
    }
    __syncthreads();
    if (t == 64) sums[blockIdx.x] = warps[0];
}

// The first warp meets itself.
extern "C" __global__ void two_stage_sum_with_barrier_for_one_warp(const int* x, int* sums) {
    __shared__ int warps[4];
    int t = threadIdx.x, sum = x[blockIdx.x * 128 + t];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (t % 32 == 0) warps[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < 4 ? warps[t] : 0;
        for (int d = 2; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
        if (t == 0) warps[0] = sum;
        __syncthreads(); // <- divergent barrier
    }
    __syncthreads(); // <- (divergent barrier)
    if (t == 64) sums[blockIdx.x] = warps[0];
}

// Every thread comes to a barrier, but not to the same.
extern "C" __global__ void two_stage_sum_with_a_barrier_for_each(const int* x, int* sums) {
    __shared__ int warps[4];
    int t = threadIdx.x, sum = x[blockIdx.x * 128 + t];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (t % 32 == 0) {
        warps[t / 32] = sum;
        __syncthreads(); // <- divergent barrier
    } else {
        __syncthreads(); // <- (divergent barrier)
    }
    if (t < 32) {
        sum = t < 4 ? warps[t] : 0;
        for (int d = 2; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
        if (t == 0) warps[0] = sum;
    }
    __syncthreads();
    if (t == 64) sums[blockIdx.x] = warps[0];
}
