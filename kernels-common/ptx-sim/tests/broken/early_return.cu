// Differences to the first element of each block's 96, by way of shared memory.

// A barrier of its own number for `threads` threads, as libraries use them beside __syncthreads().
__device__ void meet(int threads) { asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory"); }

extern "C" __global__ void differences(const int* x, int* y, int n) {
    __shared__ int first;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) first = x[i];
    meet(blockDim.x);
    if (i < n) y[i] = x[i] - first;
}

// The barrier waits for as many threads as the block was started with, but a warp of the last block has left.
extern "C" __global__ void differences_after_return(const int* x, int* y, int n) {
    __shared__ int first;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (threadIdx.x == 0) first = x[i];
    meet(blockDim.x); // <- deadlock
    y[i] = x[i] - first;
}

// With the block's own barrier, those that left are not waited for; whether that is meant is another question.
extern "C" __global__ void differences_after_return_from_block(const int* x, int* y, int n) {
    __shared__ int first;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (threadIdx.x == 0) first = x[i];
    __syncthreads(); // <- barrier after exit
    y[i] = x[i] - first;
}

// All threads come to the barrier, but it waits for one warp more than there are.
extern "C" __global__ void differences_with_wrong_count(const int* x, int* y, int n) {
    __shared__ int first;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) first = x[i];
    meet(blockDim.x + 32); // <- deadlock
    if (i < n) y[i] = x[i] - first;
}

// The barrier lets go as soon as two of the three warps are there.
extern "C" __global__ void differences_with_small_count(const int* x, int* y, int n) {
    __shared__ int first;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        first = x[i]; // <- (race)
    }
    meet(blockDim.x - 32); // <- deadlock
    if (i < n) {
        y[i] = x[i] - first; // <- (race, uninitialised read)
    }
}
