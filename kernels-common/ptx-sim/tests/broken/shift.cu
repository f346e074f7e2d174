// Moves all elements one place to the left; the last one stays. `edges` has room for the first element of each block.

extern "C" __global__ void shift(int* x, int* edges, unsigned* arrived, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? x[i] : 0;
    __shared__ int tile[64];
    tile[threadIdx.x] = value;
    __syncthreads();
    // The neighbour's first element is taken from where that block has put it, once it has.
    if (threadIdx.x == 0) {
        edges[blockIdx.x] = value;
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
    bool last = threadIdx.x == blockDim.x - 1;
    if (i + 1 < n) x[i] = last ? edges[blockIdx.x + 1] : tile[threadIdx.x + 1];
}

// The thread to the left may write the element before this one has read it.
extern "C" __global__ void shift_without_barrier(int* x, int* edges, unsigned* arrived, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) {
        x[i] = x[i + 1]; // <- race
    }
}

// A barrier of the block does not hold back the next block, which writes the element that the last thread reads.
extern "C" __global__ void shift_across_blocks(int* x, int* edges, unsigned* arrived, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i + 1 < n ? x[i + 1] : 0; // <- race
    __syncthreads();
    if (i + 1 < n) x[i] = value;          // <- race
}
