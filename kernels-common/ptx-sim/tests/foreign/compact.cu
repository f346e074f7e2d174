// Stream compaction: keeps the elements that pass a test, in their order.

// Places within a warp from the ballot of its lanes, within a block from the counts of its warps. Blocks reserve their
// range in a chain: each waits for the one before it. So the launch has to be cooperative.
extern "C" __global__ void compact(const int* x, int* kept, volatile int* ends, int n, int divisor) {
    __shared__ int counts[32];
    __shared__ int start;
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, warps = blockDim.x >> 5;
    int i = blockIdx.x * blockDim.x + t;
    int value = i < n ? x[i] : 1;
    bool keep = i < n && value % divisor == 0;
    unsigned ballot = __ballot_sync(0xffffffff, keep);
    int place = __popc(ballot & ((1u << lane) - 1));
    if (lane == 0) counts[warp] = __popc(ballot);
    __syncthreads();
    if (warp == 0) {
        int count = lane < warps ? counts[lane] : 0, sum = count;
        for (int d = 1; d < 32; d <<= 1) {
            int other = __shfl_up_sync(0xffffffff, sum, d);
            if (lane >= d) sum += other;
        }
        if (lane < warps) counts[lane] = sum - count;
        if (lane == 31) {
            int before = 0;
            if (blockIdx.x > 0)
                while ((before = ends[blockIdx.x - 1]) < 0) __nanosleep(20);
            start = before;
            __threadfence();
            ends[blockIdx.x] = before + sum;
        }
    }
    __syncthreads();
    if (keep) kept[start + counts[warp] + place] = value;
}

// Without order: the lanes that found something share one atomic.
extern "C" __global__ void collect(const int* x, int* found, unsigned* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || x[i] < 0) return;
    unsigned mask = __activemask();
    unsigned before;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(before));
    int leader = __ffs(mask) - 1;
    unsigned base = 0;
    if ((threadIdx.x & 31) == leader) base = atomicAdd(count, __popc(mask));
    base = __shfl_sync(mask, base, leader);
    found[base + __popc(mask & before)] = x[i];
}
