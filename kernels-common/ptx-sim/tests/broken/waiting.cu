// The warps of a block work on parts of x of different sizes; the last warp waits for all and adds up what they found.

__device__ int count_negative(const int* x, int first, int end) {
    int count = 0;
    for (int i = first + threadIdx.x % 32; i < end; i += 32) count += x[i] < 0;
    for (int d = 16; d > 0; d /= 2) count += __shfl_xor_sync(0xffffffff, count, d);
    return count;
}

// `ends` has the end of each warp's part; some are empty.
extern "C" __global__ void count_by_warps(const int* x, const int* ends, int* result) {
    __shared__ int found[32];
    __shared__ volatile int ready;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, workers = blockDim.x / 32 - 1;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (warp < workers) {
        int first = warp ? ends[warp - 1] : 0, end = ends[warp];
        int count = count_negative(x, first, end);
        if (lane == 0) {
            found[warp] = count;
            __threadfence_block();
            atomicAdd((int*)&ready, 1);
        }
    } else if (lane == 0) {
        while (ready < workers) {
        }
        __threadfence_block();
        int sum = 0;
        for (int k = 0; k < workers; ++k) sum += found[k];
        *result = sum;
    }
}

// A warp without work does not say that it is done.
extern "C" __global__ void count_by_warps_with_work(const int* x, const int* ends, int* result) {
    __shared__ int found[32];
    __shared__ volatile int ready;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, workers = blockDim.x / 32 - 1;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (warp < workers) {
        int first = warp ? ends[warp - 1] : 0, end = ends[warp];
        if (first == end) return;
        int count = count_negative(x, first, end);
        if (lane == 0) {
            found[warp] = count;
            __threadfence_block();
            atomicAdd((int*)&ready, 1);
        }
    } else if (lane == 0) {
        while (ready < workers) { // <- livelock
        }
        __threadfence_block();
        int sum = 0;
        for (int k = 0; k < workers; ++k) sum += found[k];
        *result = sum;
    }
}

// The count is announced before it is there.
extern "C" __global__ void count_by_warps_announced_early(const int* x, const int* ends, int* result) {
    __shared__ int found[32];
    __shared__ volatile int ready;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, workers = blockDim.x / 32 - 1;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (warp < workers) {
        int first = warp ? ends[warp - 1] : 0, end = ends[warp];
        int count = count_negative(x, first, end);
        if (lane == 0) {
            atomicAdd((int*)&ready, 1);
            __threadfence_block();
            found[warp] = count; // <- race
        }
    } else if (lane == 0) {
        while (ready < workers) {
        }
        __threadfence_block();
        int sum = 0;
        for (int k = 0; k < workers; ++k) {
            sum += found[k]; // <- race (uninitialised read)
        }
        *result = sum;
    }
}

// Additions to a volatile variable are no atomics.
extern "C" __global__ void count_by_warps_without_atomics(const int* x, const int* ends, int* result) {
    __shared__ int found[32];
    __shared__ volatile int ready;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, workers = blockDim.x / 32 - 1;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (warp < workers) {
        int first = warp ? ends[warp - 1] : 0, end = ends[warp];
        int count = count_negative(x, first, end);
        if (lane == 0) {
            found[warp] = count; // <- (race)
            __threadfence_block();
            ready = ready + 1; // <- (race)
        }
    } else if (lane == 0) {
        while (ready < workers) { // <- (race, livelock)
        }
        __threadfence_block();
        int sum = 0;
        for (int k = 0; k < workers; ++k) {
            sum += found[k]; // <- (race)
        }
        *result = sum;
    }
}
