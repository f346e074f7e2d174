// One pass of a radix sort by least significant digits: count, scan, scatter. Stable, four bits a pass.

#define THREADS 128
#define DIGITS 16

// counts[digit * blocks + block]
extern "C" __global__ void radix_count(const unsigned* keys, int n, int shift, unsigned* counts) {
    __shared__ unsigned local[DIGITS];
    if (threadIdx.x < DIGITS) local[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) atomicAdd(local + (keys[i] >> shift) % DIGITS, 1);
    __syncthreads();
    if (threadIdx.x < DIGITS) counts[threadIdx.x * gridDim.x + blockIdx.x] = local[threadIdx.x];
}

// Exclusive sums, by one warp.
extern "C" __global__ void radix_scan(unsigned* counts, int n) {
    unsigned before = 0;
    for (int start = 0; start < n; start += 32) {
        int i = start + threadIdx.x;
        unsigned mine = i < n ? counts[i] : 0, sum = mine;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            unsigned other = __shfl_up_sync(~0u, sum, d);
            sum += threadIdx.x >= d ? other : 0;
        }
        if (i < n) counts[i] = before + sum - mine;
        before += __shfl_sync(~0u, sum, 31);
    }
}

// The rank of a key among the equal digits of its block: those in warps before, then those in lanes before.
extern "C" __global__ void radix_scatter(const unsigned* keys, const unsigned* values, int n, int shift,
                                         const unsigned* starts, unsigned* sorted, unsigned* sorted_values) {
    __shared__ unsigned of_warp[THREADS / 32][DIGITS];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t, warp = t / 32;
    for (int k = t; k < THREADS / 32 * DIGITS; k += THREADS) (&of_warp[0][0])[k] = 0;
    __syncthreads();
    bool in = i < n;
    unsigned key = in ? keys[i] : 0, digit = key >> shift & DIGITS - 1;
    unsigned same = __ballot_sync(~0u, in);
#pragma unroll
    for (int bit = 0; bit < 4; ++bit) {
        unsigned set = __ballot_sync(~0u, digit >> bit & 1);
        same &= digit >> bit & 1 ? set : ~set;
    }
    unsigned lanes_before = __popc(same & ((1u << t % 32) - 1));
    if (in && lanes_before == 0) of_warp[warp][digit] = __popc(same);
    __syncthreads();
    if (in) {
        unsigned place = starts[digit * gridDim.x + blockIdx.x] + lanes_before;
        for (int w = 0; w < warp; ++w) place += of_warp[w][digit];
        sorted[place] = key;
        sorted_values[place] = values[i];
    }
}
