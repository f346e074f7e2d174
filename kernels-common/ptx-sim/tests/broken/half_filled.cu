// Each block of 64 averages windows of 5 over 128 elements, which two loads a thread bring to shared memory.

constexpr int THREADS = 64, TILE = 2 * THREADS, RADIUS = 2;

extern "C" __global__ void windows(const int* x, int* y, int n) {
    __shared__ int tile[TILE + 2 * RADIUS];
    int first = blockIdx.x * TILE - RADIUS;
    for (int t = threadIdx.x; t < TILE + 2 * RADIUS; t += THREADS) {
        int i = first + t;
        tile[t] = i >= 0 && i < n ? x[i] : 0;
    }
    __syncthreads();
    for (int t = threadIdx.x; t < TILE && blockIdx.x * TILE + t < n; t += THREADS) {
        int sum = 0;
        for (int k = 0; k <= 2 * RADIUS; ++k) sum += tile[t + k];
        y[blockIdx.x * TILE + t] = sum;
    }
}

// The second half was not loaded.
extern "C" __global__ void windows_with_one_load(const int* x, int* y, int n) {
    __shared__ int tile[TILE + 2 * RADIUS];
    int first = blockIdx.x * TILE - RADIUS;
    int i = first + threadIdx.x;
    tile[threadIdx.x] = i >= 0 && i < n ? x[i] : 0;
    __syncthreads();
    for (int t = threadIdx.x; t < TILE && blockIdx.x * TILE + t < n; t += THREADS) {
        int sum = 0;
        for (int k = 0; k <= 2 * RADIUS; ++k) {
            sum += tile[t + k]; // <- uninitialised read
        }
        y[blockIdx.x * TILE + t] = sum;
    }
}

// The elements are loaded, but what lies around them is not.
extern "C" __global__ void windows_without_halo(const int* x, int* y, int n) {
    __shared__ int tile[TILE + 2 * RADIUS];
    for (int t = threadIdx.x; t < TILE; t += THREADS) {
        int i = blockIdx.x * TILE + t;
        tile[t + RADIUS] = i < n ? x[i] : 0;
    }
    __syncthreads();
    for (int t = threadIdx.x; t < TILE && blockIdx.x * TILE + t < n; t += THREADS) {
        int sum = 0;
        for (int k = 0; k <= 2 * RADIUS; ++k) {
            sum += tile[t + k]; // <- uninitialised read
        }
        y[blockIdx.x * TILE + t] = sum;
    }
}

// The elements past the end are left out, and what was there before is averaged instead.
extern "C" __global__ void windows_without_padding(const int* x, int* y, int n) {
    __shared__ int tile[TILE + 2 * RADIUS];
    int first = blockIdx.x * TILE - RADIUS;
    for (int t = threadIdx.x; t < TILE + 2 * RADIUS; t += THREADS) {
        int i = first + t;
        if (i < n) tile[t] = i >= 0 ? x[i] : 0;
    }
    __syncthreads();
    for (int t = threadIdx.x; t < TILE && blockIdx.x * TILE + t < n; t += THREADS) {
        int sum = 0;
        for (int k = 0; k <= 2 * RADIUS; ++k) {
            sum += tile[t + k]; // <- uninitialised read
        }
        y[blockIdx.x * TILE + t] = sum;
    }
}
