// Prefix sums in one pass by decoupled look-back: a tile of 64 publishes its sum as soon as it has it, looks back over
// the sums of the tiles before it until it finds a prefix, and publishes its own.

constexpr int TILE = 64;
constexpr unsigned EMPTY = 0, SUM = 1, PREFIX = 2;

// The prefix sum within the block, and its last value for all.
__device__ int scan_tile(int value, int* total) {
    __shared__ int s[TILE];
    int t = threadIdx.x;
    s[t] = value;
    for (int d = 1; d < TILE; d *= 2) {
        __syncthreads();
        int before = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += before;
    }
    __syncthreads();
    *total = s[TILE - 1];
    return s[t];
}

// Status and value in one word need no fence: who sees the one sees the other. Tiles are handed out in the order in
// which blocks start, so that nobody waits for a block that has not.
extern "C" __global__ void prefix_sums(const int* x, int* y, unsigned* next, volatile unsigned long long* states,
                                       volatile unsigned* status, int* sums) {
    __shared__ int tile, before;
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    int total, sum = scan_tile(x[tile * TILE + threadIdx.x], &total);
    if (threadIdx.x == 0) {
        auto publish = [&](unsigned status, int value) {
            states[tile] = (unsigned long long)status << 32 | (unsigned)value;
        };
        int prefix = 0;
        if (tile > 0) publish(SUM, total);
        for (int at = tile - 1; at >= 0;) {
            unsigned long long state = states[at];
            if (state >> 32 == EMPTY) continue;
            prefix += (int)state;
            if (state >> 32 == PREFIX) break;
            --at;
        }
        publish(PREFIX, prefix + total);
        before = prefix;
    }
    __syncthreads();
    y[tile * TILE + threadIdx.x] = before + sum;
}

// Status and value apart need fences on both sides.
extern "C" __global__ void prefix_sums_with_fences(const int* x, int* y, unsigned* next,
                                                   volatile unsigned long long* states, volatile unsigned* status,
                                                   int* sums) {
    __shared__ int tile, before;
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    int total, sum = scan_tile(x[tile * TILE + threadIdx.x], &total);
    if (threadIdx.x == 0) {
        int prefix = 0;
        if (tile > 0) {
            sums[2 * tile] = total;
            __threadfence();
            status[tile] = SUM;
        }
        for (int at = tile - 1; at >= 0;) {
            unsigned state = status[at];
            if (state == EMPTY) continue;
            __threadfence();
            prefix += sums[2 * at + (state == PREFIX)];
            if (state == PREFIX) break;
            --at;
        }
        sums[2 * tile + 1] = prefix + total;
        __threadfence();
        status[tile] = PREFIX;
        before = prefix;
    }
    __syncthreads();
    y[tile * TILE + threadIdx.x] = before + sum;
}

// The status may be seen before the value.
extern "C" __global__ void prefix_sums_without_release(const int* x, int* y, unsigned* next,
                                                       volatile unsigned long long* states, volatile unsigned* status,
                                                       int* sums) {
    __shared__ int tile, before;
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    int total, sum = scan_tile(x[tile * TILE + threadIdx.x], &total);
    if (threadIdx.x == 0) {
        int prefix = 0;
        if (tile > 0) {
            sums[2 * tile] = total; // <- (race)
            status[tile] = SUM;
        }
        for (int at = tile - 1; at >= 0;) {
            unsigned state = status[at];
            if (state == EMPTY) continue;
            __threadfence();
            prefix += sums[2 * at + (state == PREFIX)]; // <- race
            if (state == PREFIX) break;
            --at;
        }
        sums[2 * tile + 1] = prefix + total; // <- race
        status[tile] = PREFIX;
        before = prefix;
    }
    __syncthreads();
    y[tile * TILE + threadIdx.x] = before + sum;
}

// The value may have been read before the status.
extern "C" __global__ void prefix_sums_without_acquire(const int* x, int* y, unsigned* next,
                                                       volatile unsigned long long* states, volatile unsigned* status,
                                                       int* sums) {
    __shared__ int tile, before;
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    int total, sum = scan_tile(x[tile * TILE + threadIdx.x], &total);
    if (threadIdx.x == 0) {
        int prefix = 0;
        if (tile > 0) {
            sums[2 * tile] = total; // <- (race)
            __threadfence();
            status[tile] = SUM;
        }
        for (int at = tile - 1; at >= 0;) {
            unsigned state = status[at];
            if (state == EMPTY) continue;
            prefix += sums[2 * at + (state == PREFIX)]; // <- race
            if (state == PREFIX) break;
            --at;
        }
        sums[2 * tile + 1] = prefix + total; // <- race
        __threadfence();
        status[tile] = PREFIX;
        before = prefix;
    }
    __syncthreads();
    y[tile * TILE + threadIdx.x] = before + sum;
}

// One place for the sum and the prefix: who has seen the status of the sum may add the prefix, and go on.
extern "C" __global__ void prefix_sums_in_one_place(const int* x, int* y, unsigned* next,
                                                    volatile unsigned long long* states, volatile unsigned* status,
                                                    int* sums) {
    __shared__ int tile, before;
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    int total, sum = scan_tile(x[tile * TILE + threadIdx.x], &total);
    if (threadIdx.x == 0) {
        int prefix = 0;
        if (tile > 0) {
            sums[tile] = total;
            __threadfence();
            status[tile] = SUM;
        }
        for (int at = tile - 1; at >= 0;) {
            unsigned state = status[at];
            if (state == EMPTY) continue;
            __threadfence();
            prefix += sums[at]; // <- race
            if (state == PREFIX) break;
            --at;
        }
        sums[tile] = prefix + total; // <- race
        __threadfence();
        status[tile] = PREFIX;
        before = prefix;
    }
    __syncthreads();
    y[tile * TILE + threadIdx.x] = before + sum;
}
