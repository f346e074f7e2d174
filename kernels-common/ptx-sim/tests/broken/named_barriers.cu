// Two warps load tiles of 64 elements, two add them up; two named barriers pass the one buffer to and fro.

constexpr int FULL = 1, EMPTY = 2, THREADS = 128, TILE = 64;

__device__ void wait(int barrier, int threads = THREADS) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ void arrive(int barrier, int threads = THREADS) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

extern "C" __global__ void handed_over(const int* x, int* y, int tiles) {
    __shared__ int buffer[TILE];
    int t = threadIdx.x % TILE;
    if (threadIdx.x < TILE) {
        for (int k = 0; k < tiles; ++k) {
            if (k > 0) wait(EMPTY);
            buffer[t] = x[k * TILE + t];
            arrive(FULL);
        }
    } else {
        int sum = 0;
        for (int k = 0; k < tiles; ++k) {
            wait(FULL);
            sum += buffer[t] * buffer[TILE - 1 - t];
            if (k < tiles - 1) arrive(EMPTY);
        }
        y[t] = sum;
    }
}

// Nobody waits until the buffer has been read.
extern "C" __global__ void handed_over_without_empty(const int* x, int* y, int tiles) {
    __shared__ int buffer[TILE];
    int t = threadIdx.x % TILE;
    if (threadIdx.x < TILE) {
        for (int k = 0; k < tiles; ++k) {
            buffer[t] = x[k * TILE + t]; // <- race
            arrive(FULL);
        }
    } else {
        int sum = 0;
        for (int k = 0; k < tiles; ++k) {
            wait(FULL); // <- (deadlock)
            sum += buffer[t] * buffer[TILE - 1 - t]; // <- race
        }
        y[t] = sum;
    }
}

// The reading warps do not say that they are done with the last tile but one.
extern "C" __global__ void handed_over_without_arrival(const int* x, int* y, int tiles) {
    __shared__ int buffer[TILE];
    int t = threadIdx.x % TILE;
    if (threadIdx.x < TILE) {
        for (int k = 0; k < tiles; ++k) {
            if (k > 0) wait(EMPTY); // <- (deadlock)
            buffer[t] = x[k * TILE + t];
            arrive(FULL);
        }
    } else {
        int sum = 0;
        for (int k = 0; k < tiles; ++k) {
            wait(FULL); // <- (deadlock)
            sum += buffer[t] * buffer[TILE - 1 - t];
            if (k < tiles - 2) arrive(EMPTY);
        }
        y[t] = sum;
    }
}

// One side of the barrier counts 128 threads, the other its own 64.
extern "C" __global__ void handed_over_with_two_counts(const int* x, int* y, int tiles) {
    __shared__ int buffer[TILE];
    int t = threadIdx.x % TILE;
    if (threadIdx.x < TILE) {
        for (int k = 0; k < tiles; ++k) {
            if (k > 0) wait(EMPTY);
            buffer[t] = x[k * TILE + t];             // <- (race)
            arrive(FULL);                            // <- (bad operand)
        }
    } else {
        int sum = 0;
        for (int k = 0; k < tiles; ++k) {
            wait(FULL, TILE);                        // <- (bad operand)
            sum += buffer[t] * buffer[TILE - 1 - t]; // <- (race, uninitialised read)
            if (k < tiles - 1) arrive(EMPTY);
        }
        y[t] = sum;
    }
}
