// A product of matrices through tiles in shared memory: c (m x n) = a (m x k) * b (k x n).

constexpr int TILE = 8;

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int at = 0; at < k; at += TILE) {
        left[y][x] = row < m && at + x < k ? a[row * k + at + x] : 0;
        right[y][x] = column < n && at + y < k ? b[(at + y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += left[y][i] * right[i][x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

// A fast warp overwrites the tiles for its next step while a slow one still multiplies.
extern "C" __global__ void matmul_without_second_barrier(const float* a, const float* b, float* c, int m, int n,
                                                         int k) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int at = 0; at < k; at += TILE) {
        left[y][x] = row < m && at + x < k ? a[row * k + at + x] : 0;          // <- (race)
        right[y][x] = column < n && at + y < k ? b[(at + y) * n + column] : 0; // <- (race)
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += left[y][i] * right[i][x];        // <- race
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

// A fast warp multiplies with what a slow one has yet to store.
extern "C" __global__ void matmul_without_first_barrier(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int at = 0; at < k; at += TILE) {
        left[y][x] = row < m && at + x < k ? a[row * k + at + x] : 0;          // <- (race)
        right[y][x] = column < n && at + y < k ? b[(at + y) * n + column] : 0; // <- (race)
        for (int i = 0; i < TILE; ++i) sum += left[y][i] * right[i][x];        // <- race (uninitialised read)
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
