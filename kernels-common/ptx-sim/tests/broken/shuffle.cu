// Sums of the 32 elements of each warp, of which the last has fewer, by shuffles.

extern "C" __global__ void shuffled_sums(const int* x, int* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = i < n ? x[i] : 0;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0 && i < n) sums[i / 32] = sum;
}

// The mask names lanes that have left the kernel.
extern "C" __global__ void shuffled_sums_after_return(const int* x, int* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = x[i];
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, d); // <- absent lane
    }
    if (threadIdx.x % 32 == 0) sums[i / 32] = sum;
}

// The mask is right, but the tree is not: it reads lanes past those that take part.
extern "C" __global__ void shuffled_sums_past_the_mask(const int* x, int* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned mask = __ballot_sync(0xffffffff, i < n);
    if (i >= n) return;
    int sum = x[i];
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_down_sync(mask, sum, d); // <- absent lane
    }
    if (threadIdx.x % 32 == 0) sums[i / 32] = sum;
}

// Zeros are left out, to save work; the full mask makes the others wait for them, while they wait at the barrier.
extern "C" __global__ void shuffled_sums_of_some(const int* x, int* sums, int n) {
    __shared__ int warps[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = i < n ? x[i] : 0;
    if (sum != 0) {
        for (int d = 16; d > 0; d /= 2) {
            sum += __shfl_down_sync(0xffffffff, sum, d); // <- (deadlock, divergent barrier)
        }
    }
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads(); // <- (deadlock, divergent barrier)
    if (threadIdx.x % 32 == 0 && i < n) sums[i / 32] = warps[threadIdx.x / 32];
}
