// nvcc: -lineinfo
// Inclusive prefix sums of many blocks.

typedef unsigned long long u64;
#define TILE 256

// Sums within a block by Hillis and Steele: in step d every thread adds what the thread d places before it has.
__device__ unsigned scan_block(unsigned value) {
    __shared__ unsigned s[2][TILE];
    unsigned t = threadIdx.x, from = 0;
    s[0][t] = value;
    __syncthreads();
    for (unsigned d = 1; d < TILE; d *= 2) {
        s[1 - from][t] = t >= d ? s[from][t] + s[from][t - d] : s[from][t];
        from = 1 - from;
        __syncthreads();
    }
    return s[from][t];
}

// Three phases: scan each block, scan the blocks' totals, add to each block the total before it.
extern "C" __global__ void scan_tiles(const unsigned* x, unsigned* y, unsigned* totals, unsigned n) {
    unsigned i = blockIdx.x * TILE + threadIdx.x;
    unsigned sum = scan_block(i < n ? x[i] : 0);
    if (i < n) y[i] = sum;
    if (threadIdx.x == TILE - 1) totals[blockIdx.x] = sum;
}

extern "C" __global__ void scan_totals(unsigned* totals, unsigned blocks) {
    unsigned t = threadIdx.x;
    unsigned sum = scan_block(t < blocks ? totals[t] : 0);
    if (t < blocks) totals[t] = sum;
}

extern "C" __global__ void add_totals(unsigned* y, const unsigned* totals, unsigned n) {
    unsigned i = blockIdx.x * TILE + threadIdx.x;
    if (blockIdx.x > 0 && i < n) y[i] += totals[blockIdx.x - 1];
}

// One pass with decoupled look-back (Merrill and Garland). A block publishes its own sum, then walks back over its
// predecessors: it adds up sums of blocks until it finds one whose prefix is known, and publishes its own prefix.
// The state of a block is 64 bits: a flag in the upper half, a value in the lower. Blocks are numbered in the order in
// which they start, so that those a block waits for are running.
#define SUM 1ull
#define PREFIX 2ull

extern "C" __global__ void scan_lookback(const unsigned* x, unsigned* y, volatile u64* states, unsigned* ticket,
                                         unsigned n) {
    __shared__ unsigned shared_tile, shared_before;
    if (threadIdx.x == 0) shared_tile = atomicAdd(ticket, 1);
    __syncthreads();
    unsigned tile = shared_tile;
    unsigned i = tile * TILE + threadIdx.x;
    unsigned sum = scan_block(i < n ? x[i] : 0);
    if (threadIdx.x == TILE - 1) {
        unsigned before = 0;
        if (tile > 0) {
            states[tile] = SUM << 32 | sum;
            for (int p = tile - 1;; --p) {
                u64 state;
                do {
                    state = states[p];
                } while (state >> 32 == 0);
                before += (unsigned)state;
                if (state >> 32 == PREFIX) break;
            }
        }
        __threadfence();
        states[tile] = PREFIX << 32 | (before + sum);
        shared_before = before;
    }
    __syncthreads();
    if (i < n) y[i] = sum + shared_before;
}

// The look-back of a whole warp: 32 predecessors at a time.
extern "C" __global__ void scan_warp_lookback(const unsigned* x, unsigned* y, u64* states, unsigned* ticket,
                                              unsigned n) {
    __shared__ unsigned shared_tile, shared_before, shared_total;
    if (threadIdx.x == 0) shared_tile = atomicInc(ticket, ~0u);
    __syncthreads();
    int tile = shared_tile;
    unsigned i = tile * TILE + threadIdx.x;
    unsigned sum = scan_block(i < n ? __ldg(x + i) : 0);
    if (threadIdx.x == TILE - 1) shared_total = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        int lane = threadIdx.x;
        unsigned total = shared_total, before = 0;
        if (lane == 0) atomicExch(states + tile, (tile == 0 ? PREFIX : SUM) << 32 | total);
        for (int end = tile - 1; end >= 0; end -= 32) {
            int p = end - lane;
            u64 state;
            do {
                state = p >= 0 ? atomicAdd(states + p, 0ull) : PREFIX << 32;
            } while (__any_sync(0xffffffff, state >> 32 == 0));
            unsigned known = __ballot_sync(0xffffffff, state >> 32 == PREFIX);
            int last = known ? __ffs(known) - 1 : 31;
            unsigned part = lane <= last ? (unsigned)state : 0;
            for (int d = 16; d > 0; d /= 2) part += __shfl_down_sync(0xffffffff, part, d);
            before += __shfl_sync(0xffffffff, part, 0);
            if (known) break;
        }
        if (lane == 0) {
            atomicExch(states + tile, PREFIX << 32 | (before + total));
            shared_before = before;
        }
    }
    __syncthreads();
    if (i < n) y[i] = sum + shared_before;
}
