// Each block counts bytes in shared memory and adds its counts to those of the grid.

extern "C" __global__ void histogram(const unsigned char* x, unsigned* counts, int n) {
    __shared__ unsigned bins[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) bins[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[x[i]], 1);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) atomicAdd(&counts[bin], bins[bin]);
}

// Two threads with the same byte read the same count, and one of the two is lost.
extern "C" __global__ void histogram_without_atomics(const unsigned char* x, unsigned* counts, int n) {
    __shared__ unsigned bins[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) bins[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        ++bins[x[i]]; // <- race
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) atomicAdd(&counts[bin], bins[bin]);
}

// A fast warp counts in bins that a slow one has yet to clear.
extern "C" __global__ void histogram_cleared_late(const unsigned char* x, unsigned* counts, int n) {
    __shared__ unsigned bins[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) {
        bins[bin] = 0; // <- (race)
    }
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&bins[x[i]], 1); // <- uninitialised read (race)
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) atomicAdd(&counts[bin], bins[bin]);
}

// A fast warp hands over bins in which a slow one still counts.
extern "C" __global__ void histogram_handed_over_early(const unsigned char* x, unsigned* counts, int n) {
    __shared__ unsigned bins[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) bins[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&bins[x[i]], 1); // <- race
    }
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) {
        unsigned count = bins[bin]; // <- race
        if (count) atomicAdd(&counts[bin], count);
    }
}
