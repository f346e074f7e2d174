// Sums without barriers of the block: the last steps of a tree within one warp, on volatile shared memory.

extern "C" __global__ void sum_blocks(const int* x, long long* sums, int n) {
    __shared__ volatile long long s[256];
    int t = threadIdx.x, i = blockIdx.x * 512 + t;
    s[t] = (i < n ? (long long)x[i] : 0) + (i + 256 < n ? (long long)x[i + 256] : 0);
    __syncthreads();
    if (t < 128) s[t] = s[t] + s[t + 128];
    __syncthreads();
    if (t < 64) s[t] = s[t] + s[t + 64];
    __syncthreads();
    if (t < 32) {
        long long sum = s[t] + s[t + 32];
#pragma unroll
        for (int d = 16; d > 0; d /= 2) {
            s[t] = sum;
            __syncwarp();
            sum += s[t + d];
            __syncwarp();
        }
        if (t == 0) sums[blockIdx.x] = sum;
    }
}

// A producer warp and a consumer warp of one block hand over items through a ring of four places, with flags alone.
extern "C" __global__ void pipeline(const short* x, int* y, int n) {
    __shared__ volatile int ring[4][32];
    __shared__ volatile int written, taken;
    int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) written = taken = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int item = 0; item * 32 < n; ++item) {
            if (lane == 0)
                while (item - taken >= 4) __nanosleep(10);
            __syncwarp();
            int i = item * 32 + lane;
            ring[item % 4][lane] = i < n ? x[i] : 0;
            __threadfence_block();
            __syncwarp();
            if (lane == 0) written = item + 1;
        }
    } else {
        for (int item = 0; item * 32 < n; ++item) {
            if (lane == 0)
                while (written <= item) __nanosleep(10);
            __syncwarp();
            int value = ring[item % 4][lane] + 1000 * ring[item % 4][31 - lane];
            __syncwarp();
            if (lane == 0) taken = item + 1;
            int i = item * 32 + lane;
            if (i < n) y[i] = value;
        }
    }
}
