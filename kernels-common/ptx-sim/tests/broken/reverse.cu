// Each block turns its tile around by way of shared memory.

extern "C" __global__ void reverse(const float* x, float* y, int n) {
    __shared__ float tile[96];
    int t = threadIdx.x, first = blockIdx.x * 96, count = min(96, n - first);
    if (t < count) tile[t] = x[first + t];
    __syncthreads();
    if (t < count) y[first + t] = tile[count - 1 - t];
}

// The elements come from other warps, which may not have stored them.
extern "C" __global__ void reverse_without_barrier(const float* x, float* y, int n) {
    __shared__ float tile[96];
    int t = threadIdx.x, first = blockIdx.x * 96, count = min(96, n - first);
    if (t < count) tile[t] = x[first + t];              // <- race
    if (t < count) y[first + t] = tile[count - 1 - t];  // <- race (uninitialised read)
}

// A barrier of the warp is too small.
extern "C" __global__ void reverse_with_warp_barrier(const float* x, float* y, int n) {
    __shared__ float tile[96];
    int t = threadIdx.x, first = blockIdx.x * 96, count = min(96, n - first);
    if (t < count) tile[t] = x[first + t];              // <- (race)
    __syncwarp();
    if (t < count) y[first + t] = tile[count - 1 - t];  // <- uninitialised read (race)
}
