// Bitonic sort of each block's part in shared memory. What is missing to a power of two is filled up with the largest
// key.

template <class K> __device__ void sort(K* s, int size) {
    for (int length = 2; length <= size; length *= 2) {
        for (int d = length / 2; d > 0; d /= 2) {
            __syncthreads();
            for (int i = threadIdx.x; i < size; i += blockDim.x) {
                int j = i ^ d;
                if (j > i) {
                    K a = s[i], b = s[j];
                    bool ascending = (i & length) == 0;
                    if ((a > b) == ascending) {
                        s[i] = b;
                        s[j] = a;
                    }
                }
            }
        }
    }
    __syncthreads();
}

extern "C" __global__ void sort_ints(int* x, int n, int part) {
    extern __shared__ int keys[];
    int start = blockIdx.x * part;
    for (int i = threadIdx.x; i < part; i += blockDim.x) keys[i] = start + i < n ? x[start + i] : 0x7fffffff;
    sort(keys, part);
    for (int i = threadIdx.x; i < part && start + i < n; i += blockDim.x) x[start + i] = keys[i];
}

// Doubles of one warp, in registers: partners exchange through shuffles.
extern "C" __global__ void sort_doubles_of_warp(double* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    double mine = i < n ? x[i] : __longlong_as_double(0x7ff0000000000000);
    for (int length = 2; length <= 32; length *= 2) {
        for (int d = length / 2; d > 0; d /= 2) {
            double other = __shfl_xor_sync(0xffffffff, mine, d);
            bool keep_smaller = ((lane & d) == 0) == ((lane & length) == 0);
            mine = keep_smaller ? fmin(mine, other) : fmax(mine, other);
        }
    }
    if (i < n) x[i] = mine;
}
