// The largest element so far, at the end of each round over rows of n: a load under an `if` that nvcc makes for all
// threads, and whose value it drops for those that the `if` leaves out. What nobody uses is no race.

extern "C" __global__ void largest_so_far(const int* x, int* largest, int n) {
    __shared__ int best[64];
    const int* row = x + blockIdx.x * n;
    int t = threadIdx.x, most = -1;
    for (int first = 0; first < n; first += blockDim.x) {
        best[t] = first + t < n ? row[first + t] : -1;
        __syncthreads();
        for (int d = blockDim.x / 2; d > 0; d /= 2) {
            if (t < d) best[t] = max(best[t], best[t + d]);
            __syncthreads();
        }
        if (t == 0) most = max(most, best[0]);
    }
    if (t == 0) largest[blockIdx.x] = most;
}

// Here all threads do use it, and the first one of a fast warp overwrites it for the next round.
extern "C" __global__ void largest_so_far_for_all(const int* x, int* largest, int n) {
    __shared__ int best[64];
    const int* row = x + blockIdx.x * n;
    int t = threadIdx.x, most = -1;
    for (int first = 0; first < n; first += blockDim.x) {
        best[t] = first + t < n ? row[first + t] : -1; // <- race
        __syncthreads();
        for (int d = blockDim.x / 2; d > 0; d /= 2) {
            if (t < d) best[t] = max(best[t], best[t + d]);
            __syncthreads();
        }
        most = max(most, best[0]); // <- race
    }
    if (t == blockDim.x - 1) largest[blockIdx.x] = most;
}
