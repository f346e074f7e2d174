// Whether each block's 128 elements have a 7 among them: whoever finds one says so, and it does not matter who.

extern "C" __global__ void any(const int* x, int* y) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (x[blockIdx.x * 128 + threadIdx.x] == 7) found = 1;
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = found;
}

// Who finds a 7 before the first thread has begun is overwritten.
extern "C" __global__ void any_without_barrier(const int* x, int* y) {
    __shared__ int found;
    if (threadIdx.x == 0) {
        found = 0; // <- race
    }
    if (x[blockIdx.x * 128 + threadIdx.x] == 7) {
        found = 1; // <- race
    }
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = found;
}

// All threads store the same place, but not the same value.
extern "C" __global__ void where_without_atomics(const int* x, int* y) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (x[blockIdx.x * 128 + threadIdx.x] == 7) {
        found = threadIdx.x + 1; // <- race
    }
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = found != 0;
}
