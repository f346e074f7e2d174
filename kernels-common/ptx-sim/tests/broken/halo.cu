// Blocks of 64 threads each smooth a tile of 62 elements, and load one more on either side: y[i] = x[i - 1] + 2 x[i] +
// x[i + 1], with zeros around.

constexpr int THREADS = 64, TILE = THREADS - 2;

extern "C" __global__ void smooth_tiles(const int* x, int* y, int n) {
    __shared__ int tile[THREADS];
    int t = threadIdx.x, i = (int)blockIdx.x * TILE + t - 1;
    tile[t] = i >= 0 && i < n ? x[i] : 0;
    __syncthreads();
    if (t > 0 && t <= TILE && i < n) y[i] = tile[t - 1] + 2 * tile[t] + tile[t + 1];
}

// Each block also writes the elements around its tile, which belong to its neighbours.
extern "C" __global__ void smooth_overlapping_tiles(const int* x, int* y, int n) {
    __shared__ int tile[THREADS];
    int t = threadIdx.x, i = (int)blockIdx.x * TILE + t - 1;
    tile[t] = i >= 0 && i < n ? x[i] : 0;
    __syncthreads();
    int left = t > 0 ? tile[t - 1] : 0, right = t < THREADS - 1 ? tile[t + 1] : 0;
    if (i >= 0 && i < n) {
        y[i] = left + 2 * tile[t] + right; // <- race
    }
}

// The tile is loaded from memory to which other blocks write.
extern "C" __global__ void smooth_tiles_in_place(int* x, int* y, int n) {
    __shared__ int tile[THREADS];
    int t = threadIdx.x, i = (int)blockIdx.x * TILE + t - 1;
    tile[t] = i >= 0 && i < n ? x[i] : 0; // <- race
    __syncthreads();
    if (t > 0 && t <= TILE && i < n) {
        x[i] = tile[t - 1] + 2 * tile[t] + tile[t + 1]; // <- race
    }
}

// Each thread adds its share to three elements, without atomics.
extern "C" __global__ void smooth_by_scattering(const int* x, int* y, int n) {
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        y[i] += 2 * x[i];               // <- race
        if (i > 0) y[i - 1] += x[i];     // <- race
        if (i < n - 1) y[i + 1] += x[i]; // <- (race)
    }
}
