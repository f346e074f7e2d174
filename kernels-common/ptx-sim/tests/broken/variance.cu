// Mean and sum of squared deviations of each row of 128 (all whole numbers), by a block sum that is called twice.

constexpr int ROW = 128, WARPS = ROW / 32;

__device__ int warp_sum(int value) {
    for (int d = 16; d > 0; d /= 2) value += __shfl_xor_sync(0xffffffff, value, d);
    return value;
}

// The sum over the block, for every thread. Ends with a barrier, so that the scratch can be used again.
__device__ int block_sum(int value, int* scratch) {
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    int sum = 0;
    for (int warp = 0; warp < WARPS; ++warp) sum += scratch[warp];
    __syncthreads();
    return sum;
}

// The same without a barrier at the end: the second call overwrites what slow warps still add up.
__device__ int block_sum_once(int value, int* scratch) {
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    int sum = 0;
    for (int warp = 0; warp < WARPS; ++warp) sum += scratch[warp];
    return sum;
}

extern "C" __global__ void variances(const int* x, int* mean, int* squares) {
    __shared__ int scratch[WARPS];
    int value = x[blockIdx.x * ROW + threadIdx.x];
    int middle = block_sum(value, scratch) / ROW;
    int sum = block_sum((value - middle) * (value - middle), scratch);
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = middle;
        squares[blockIdx.x] = sum;
    }
}

// Each call has scratch of its own, and needs no barrier at its end.
extern "C" __global__ void variances_with_two_scratches(const int* x, int* mean, int* squares) {
    __shared__ int scratch[2][WARPS];
    int value = x[blockIdx.x * ROW + threadIdx.x];
    int middle = block_sum_once(value, scratch[0]) / ROW;
    int sum = block_sum_once((value - middle) * (value - middle), scratch[1]);
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = middle;
        squares[blockIdx.x] = sum;
    }
}

extern "C" __global__ void variances_with_reused_scratch(const int* x, int* mean, int* squares) {
    __shared__ int scratch[WARPS];
    int value = x[blockIdx.x * ROW + threadIdx.x];
    int middle = block_sum_once(value, scratch) / ROW;                      // <- race
    int sum = block_sum_once((value - middle) * (value - middle), scratch); // <- race
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = middle;
        squares[blockIdx.x] = sum;
    }
}
