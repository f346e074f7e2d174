// Histogram of bytes. Every block counts in shared memory and adds its counts to the global ones at the end.

#define BINS 256

extern "C" __global__ void histogram(const unsigned char* data, size_t n, unsigned* counts) {
    __shared__ unsigned local[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) local[bin] = 0;
    __syncthreads();
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) atomicAdd(&local[data[i]], 1);
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        if (local[bin]) atomicAdd(&counts[bin], local[bin]);
}

// The same with four bytes a load and 16-bit counts, two of them packed into a word, so that half the shared memory
// will do. A block must not see more than 65535 bytes.
extern "C" __global__ void histogram_packed(const uchar4* data, unsigned n4, unsigned* counts) {
    extern __shared__ unsigned packed[];
    for (int i = threadIdx.x; i < BINS / 2; i += blockDim.x) packed[i] = 0;
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        uchar4 b = data[i];
        atomicAdd(packed + b.x / 2, 1u << 16 * (b.x & 1));
        atomicAdd(packed + b.y / 2, 1u << 16 * (b.y & 1));
        atomicAdd(packed + b.z / 2, 1u << 16 * (b.z & 1));
        atomicAdd(packed + b.w / 2, 1u << 16 * (b.w & 1));
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
        unsigned short count = reinterpret_cast<const unsigned short*>(packed)[bin];
        if (count) atomicAdd(counts + bin, count);
    }
}

// Equal values of a warp are counted by one lane: worth it where few values are frequent.
extern "C" __global__ void histogram_aggregated(const unsigned char* data, unsigned n, unsigned* counts) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    bool in = i < n;
    unsigned active = __ballot_sync(0xffffffff, in);
    if (in) {
        unsigned value = data[i];
        unsigned peers = __match_any_sync(active, value);
        if (__ffs(peers) - 1 == (threadIdx.x & 31)) atomicAdd(counts + value, __popc(peers));
    }
}
