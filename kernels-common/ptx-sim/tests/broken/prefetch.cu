// Moving sums over a long row, a tile of 64 at a time: while one tile is added up, the next ones are on their way from
// global memory to the buffers of a ring. y[i] = x[i] + the element at the mirrored place of its tile.

constexpr int TILE = 64, DEPTH = 3;

// Tile k + 2 goes to the buffer of tile k - 1, which everybody has left at the barrier of step k.
extern "C" __global__ void mirror_sums(const int* x, int* y, int tiles) {
    __shared__ int ring[DEPTH][TILE];
    int t = threadIdx.x;
    for (int k = 0; k < DEPTH - 1; ++k) ring[k][t] = k < tiles ? x[k * TILE + t] : 0;
    for (int k = 0; k < tiles; ++k) {
        __syncthreads();
        int ahead = k + DEPTH - 1;
        if (ahead < tiles) ring[ahead % DEPTH][t] = x[ahead * TILE + t];
        y[k * TILE + t] = ring[k % DEPTH][t] + ring[k % DEPTH][TILE - 1 - t];
    }
}

// Tile k + 3 goes to the buffer of tile k, which others still read.
extern "C" __global__ void mirror_sums_one_ahead_too_many(const int* x, int* y, int tiles) {
    __shared__ int ring[DEPTH][TILE];
    int t = threadIdx.x;
    for (int k = 0; k < DEPTH; ++k) ring[k][t] = k < tiles ? x[k * TILE + t] : 0;
    for (int k = 0; k < tiles; ++k) {
        __syncthreads();
        int own = ring[k % DEPTH][t];
        int mirrored = ring[k % DEPTH][TILE - 1 - t];                   // <- race
        int ahead = k + DEPTH;
        if (ahead < tiles) ring[ahead % DEPTH][t] = x[ahead * TILE + t]; // <- race
        y[k * TILE + t] = own + mirrored;
    }
}
