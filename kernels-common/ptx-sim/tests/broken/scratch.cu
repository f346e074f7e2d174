// Counts of each key in the parts of x that the blocks have; `counts` is fresh memory.

constexpr int KEYS = 16;

extern "C" __global__ void count_keys(const unsigned char* x, int* counts, int n) {
    int* mine = counts + blockIdx.x * KEYS;
    if (threadIdx.x < KEYS) mine[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&mine[x[i] % KEYS], 1);
}

// Nobody has cleared the counts.
extern "C" __global__ void count_keys_without_clearing(const unsigned char* x, int* counts, int n) {
    int* mine = counts + blockIdx.x * KEYS;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&mine[x[i] % KEYS], 1); // <- uninitialised read
}

// Each block clears but one of its counts.
extern "C" __global__ void count_keys_with_one_left(const unsigned char* x, int* counts, int n) {
    int* mine = counts + blockIdx.x * KEYS;
    if (threadIdx.x < KEYS - 1) mine[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&mine[x[i] % KEYS], 1); // <- uninitialised read
    }
}

// The counts of the next block are cleared instead, whenever it comes.
extern "C" __global__ void count_keys_of_the_next(const unsigned char* x, int* counts, int n) {
    int* mine = counts + blockIdx.x * KEYS;
    if (threadIdx.x < KEYS) {
        int next = (blockIdx.x + 1) % gridDim.x;
        counts[next * KEYS + threadIdx.x] = 0; // <- (race)
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&mine[x[i] % KEYS], 1); // <- uninitialised read (race)
    }
}
