// Sum in one launch: each block leaves its partial sum, and the one that comes last adds up all of them.

constexpr int THREADS = 64;

// The sum of the values over the block, in thread 0.
__device__ int block_sum(int value) {
    __shared__ int s[THREADS];
    s[threadIdx.x] = value;
    for (int d = THREADS / 2; d > 0; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    }
    return s[0];
}

__device__ int share(const int* x, int n) {
    int sum = 0;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) sum += x[i];
    return block_sum(sum);
}

extern "C" __global__ void sum_by_last_block(const int* x, int* partials, unsigned* arrived, int* result, int n) {
    __shared__ bool last;
    int sum = share(x, n);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        int value = threadIdx.x < gridDim.x ? partials[threadIdx.x] : 0;
        int total = block_sum(value);
        if (threadIdx.x == 0) *result = total;
    }
}

// The count may be seen before the partial sum.
extern "C" __global__ void sum_without_fences(const int* x, int* partials, unsigned* arrived, int* result, int n) {
    __shared__ bool last;
    int sum = share(x, n);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum; // <- race
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        int value = threadIdx.x < gridDim.x ? partials[threadIdx.x] : 0; // <- race
        int total = block_sum(value);
        if (threadIdx.x == 0) *result = total;
    }
}

// The fence is on the wrong side of the counter.
extern "C" __global__ void sum_with_fence_after_counter(const int* x, int* partials, unsigned* arrived, int* result,
                                                        int n) {
    __shared__ bool last;
    int sum = share(x, n);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum; // <- race
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        int value = threadIdx.x < gridDim.x ? partials[threadIdx.x] : 0; // <- race
        int total = block_sum(value);
        if (threadIdx.x == 0) *result = total;
    }
}

// The last block may have read ahead: its own fence is missing.
extern "C" __global__ void sum_with_fence_before_counter(const int* x, int* partials, unsigned* arrived, int* result,
                                                         int n) {
    __shared__ bool last;
    int sum = share(x, n);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum; // <- race
        __threadfence();
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        int value = threadIdx.x < gridDim.x ? partials[threadIdx.x] : 0; // <- race
        int total = block_sum(value);
        if (threadIdx.x == 0) *result = total;
    }
}

// The fences are for the threads of the block, and another block is to see the partial sum.
extern "C" __global__ void sum_with_fences_of_block(const int* x, int* partials, unsigned* arrived, int* result,
                                                    int n) {
    __shared__ bool last;
    int sum = share(x, n);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum; // <- race
        __threadfence_block();
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
        __threadfence_block();
    }
    __syncthreads();
    if (last) {
        int value = threadIdx.x < gridDim.x ? partials[threadIdx.x] : 0; // <- race
        int total = block_sum(value);
        if (threadIdx.x == 0) *result = total;
    }
}

// The counter is an atomic among the threads of each block alone.
extern "C" __global__ void sum_with_counter_of_block(const int* x, int* partials, unsigned* arrived, int* result,
                                                     int n) {
    __shared__ bool last;
    int sum = share(x, n);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum; // <- (race)
        __threadfence();
        last = atomicInc_block(arrived, gridDim.x - 1) == gridDim.x - 1; // <- (race)
        __threadfence();
    }
    __syncthreads();
    if (last) {
        int value = threadIdx.x < gridDim.x ? partials[threadIdx.x] : 0; // <- (race)
        int total = block_sum(value);
        if (threadIdx.x == 0) *result = total;
    }
}

// The counter is no atomic at all. Two blocks may both be the last, or none.
extern "C" __global__ void sum_with_plain_counter(const int* x, int* partials, unsigned* arrived, int* result, int n) {
    __shared__ bool last;
    int sum = share(x, n);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum; // <- (race)
        __threadfence();
        unsigned before = *arrived; // <- race
        last = before == gridDim.x - 1;
        *arrived = last ? 0 : before + 1; // <- race
        __threadfence();
    }
    __syncthreads();
    if (last) {
        int value = threadIdx.x < gridDim.x ? partials[threadIdx.x] : 0; // <- (race)
        int total = block_sum(value);
        if (threadIdx.x == 0) *result = total;
    }
}
