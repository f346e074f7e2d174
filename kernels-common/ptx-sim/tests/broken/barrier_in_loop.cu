// The largest element of rows of n by one block each: in every round the block looks at blockDim.x elements.

extern "C" __global__ void largest(const int* x, int* largest, int n) {
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
        __syncthreads();
    }
    if (t == 0) largest[blockIdx.x] = most;
}

// The threads without an element in the last round do not come to its barriers: they go on to the one at the end.
extern "C" __global__ void largest_with_unequal_rounds(const int* x, int* largest, int n) {
    __shared__ int best[64];
    const int* row = x + blockIdx.x * n;
    int t = threadIdx.x, most = -1;
    for (int i = t; i < n; i += blockDim.x) {
        best[t] = row[i];
        __syncthreads(); // <- divergent barrier
        for (int d = blockDim.x / 2; d > 0; d /= 2) {
            if (t < d) best[t] = max(best[t], best[t + d]);
            __syncthreads(); // <- (divergent barrier)
        }
        if (t == 0) most = max(most, best[0]);
        __syncthreads(); // <- (divergent barrier)
    }
    __syncthreads(); // <- (divergent barrier)
    if (t == 0) largest[blockIdx.x] = most;
}

// The same with nothing behind the loop: the threads have left when the others come to the barriers.
extern "C" __global__ void largest_with_threads_that_leave(const int* x, int* largest, int n) {
    __shared__ int best[64];
    const int* row = x + blockIdx.x * n;
    int t = threadIdx.x, most = -1;
    for (int i = t; i < n; i += blockDim.x) {
        best[t] = row[i];
        __syncthreads(); // <- (barrier after exit, divergent barrier)
        for (int d = blockDim.x / 2; d > 0; d /= 2) {
            if (t < d) best[t] = max(best[t], best[t + d]);
            __syncthreads();
        }
        if (t == 0) most = max(most, best[0]);
        __syncthreads();
    }
    if (t == 0) largest[blockIdx.x] = most;
}
