// Inclusive prefix sums of each row of 96, a block for each.

constexpr int ROW = 96;

extern "C" __global__ void scan(int* x) {
    __shared__ int sum[ROW];
    int t = threadIdx.x;
    sum[t] = x[blockIdx.x * ROW + t];
    for (int d = 1; d < ROW; d *= 2) {
        __syncthreads();
        int before = t >= d ? sum[t - d] : 0;
        __syncthreads();
        sum[t] += before;
    }
    x[blockIdx.x * ROW + t] = sum[t];
}

// Reads and writes of one step are not kept apart.
extern "C" __global__ void scan_in_place(int* x) {
    __shared__ int sum[ROW];
    int t = threadIdx.x;
    sum[t] = x[blockIdx.x * ROW + t];
    for (int d = 1; d < ROW; d *= 2) {
        __syncthreads();
        if (t >= d) {
            sum[t] += sum[t - d]; // <- race
        }
    }
    x[blockIdx.x * ROW + t] = sum[t];
}

// A conditional barrier that is meant to save some: the steps of a warp's own reach are left without.
extern "C" __global__ void scan_with_barriers_for_long_steps(int* x) {
    __shared__ int sum[ROW];
    int t = threadIdx.x;
    sum[t] = x[blockIdx.x * ROW + t]; // <- race
    for (int d = 1; d < ROW; d *= 2) {
        if (d >= 32) __syncthreads();
        int before = t >= d ? sum[t - d] : 0; // <- race (uninitialised read)
        if (d >= 32) __syncthreads();
        sum[t] += before; // <- (race)
    }
    x[blockIdx.x * ROW + t] = sum[t];
}
