// Sorts each row of 256 in shared memory by a bitonic network, two elements for each thread.

constexpr int ROW = 256;

extern "C" __global__ void sort_rows(unsigned* x) {
    __shared__ unsigned key[ROW];
    int t = threadIdx.x;
    unsigned* row = x + blockIdx.x * ROW;
    key[t] = row[t], key[t + ROW / 2] = row[t + ROW / 2];
    __syncthreads();
    for (int size = 2; size <= ROW; size *= 2) {
        for (int d = size / 2; d > 0; d /= 2) {
            int low = 2 * t - (t & (d - 1)), high = low + d;
            bool descending = (low & size) != 0;
            unsigned a = key[low], b = key[high];
            if ((a > b) != descending) key[low] = b, key[high] = a;
            __syncthreads();
        }
    }
    row[t] = key[t], row[t + ROW / 2] = key[t + ROW / 2];
}

// Steps of up to 32 pair elements of one warp's own 64, so that a barrier of the warp is enough between them.
extern "C" __global__ void sort_rows_by_warps(unsigned* x) {
    __shared__ unsigned key[ROW];
    int t = threadIdx.x;
    unsigned* row = x + blockIdx.x * ROW;
    key[t] = row[t], key[t + ROW / 2] = row[t + ROW / 2];
    __syncthreads();
    for (int size = 2; size <= ROW; size *= 2) {
        for (int d = size / 2; d > 0; d /= 2) {
            int low = 2 * t - (t & (d - 1)), high = low + d;
            bool descending = (low & size) != 0;
            unsigned a = key[low], b = key[high];
            if ((a > b) != descending) key[low] = b, key[high] = a;
            if (d > 32 || d == 1) {
                __syncthreads();
            } else {
                __syncwarp();
            }
        }
    }
    row[t] = key[t], row[t + ROW / 2] = key[t + ROW / 2];
}

// The lanes of a warp are taken to run in step.
extern "C" __global__ void sort_rows_in_step(unsigned* x) {
    __shared__ unsigned key[ROW];
    int t = threadIdx.x;
    unsigned* row = x + blockIdx.x * ROW;
    key[t] = row[t], key[t + ROW / 2] = row[t + ROW / 2];
    __syncthreads();
    for (int size = 2; size <= ROW; size *= 2) {
        for (int d = size / 2; d > 0; d /= 2) {
            int low = 2 * t - (t & (d - 1)), high = low + d;
            bool descending = (low & size) != 0;
            unsigned a = key[low], b = key[high];                   // <- race
            if ((a > b) != descending) key[low] = b, key[high] = a; // <- race
            if (d > 32 || d == 1) __syncthreads();
        }
    }
    row[t] = key[t], row[t + ROW / 2] = key[t + ROW / 2];
}
