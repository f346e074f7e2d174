// Collects the positive elements: round by round each block reserves a range of the output for what it has found.

constexpr int THREADS = 64;

extern "C" __global__ void collect(const int* x, int* found, unsigned* count, int n) {
    __shared__ unsigned wanted, base;
    for (int first = blockIdx.x * THREADS; first < n; first += gridDim.x * THREADS) {
        int i = first + threadIdx.x;
        if (threadIdx.x == 0) wanted = 0;
        __syncthreads();
        bool keep = i < n && x[i] > 0;
        unsigned place = keep ? atomicAdd(&wanted, 1) : 0;
        __syncthreads();
        if (threadIdx.x == 0) base = atomicAdd(count, wanted);
        __syncthreads();
        if (keep) found[base + place] = x[i];
    }
}

// The base of the range is read before it is there.
extern "C" __global__ void collect_without_waiting_for_base(const int* x, int* found, unsigned* count, int n) {
    __shared__ unsigned wanted, base;
    if (threadIdx.x == 0) base = 0; // <- (race)
    for (int first = blockIdx.x * THREADS; first < n; first += gridDim.x * THREADS) {
        int i = first + threadIdx.x;
        if (threadIdx.x == 0) wanted = 0;
        __syncthreads();
        bool keep = i < n && x[i] > 0;
        unsigned place = keep ? atomicAdd(&wanted, 1) : 0;
        __syncthreads();
        if (threadIdx.x == 0) base = atomicAdd(count, wanted); // <- race
        if (keep) found[base + place] = x[i];                  // <- race
        __syncthreads();
    }
}

// The counter is cleared for the next round at its end, when the first thread has passed: slow warps may still count.
extern "C" __global__ void collect_and_clear_early(const int* x, int* found, unsigned* count, int n) {
    __shared__ unsigned wanted, base;
    if (threadIdx.x == 0) wanted = 0;
    __syncthreads();
    for (int first = blockIdx.x * THREADS; first < n; first += gridDim.x * THREADS) {
        int i = first + threadIdx.x;
        bool keep = i < n && x[i] > 0;
        unsigned place = keep ? atomicAdd(&wanted, 1) : 0; // <- race
        __syncthreads();
        if (threadIdx.x == 0) base = atomicAdd(count, wanted);
        __syncthreads();
        if (keep) found[base + place] = x[i];
        if (threadIdx.x == 0) wanted = 0; // <- race
    }
}

// A place of the output is taken by a count in global memory that is no atomic.
extern "C" __global__ void collect_without_atomics(const int* x, int* found, unsigned* count, int n) {
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        if (x[i] > 0) {
            unsigned place = (*count)++; // <- race
            found[place] = x[i];         // <- (race)
        }
    }
}
