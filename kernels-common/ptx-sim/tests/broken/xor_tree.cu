// Every thread of a block gets the sum over the block: partners at distance 64, 32, ... 1 exchange their sums.

constexpr int THREADS = 128;

// The barriers are in a loop that all threads go through as often, which is no reason to complain.
extern "C" __global__ void sums_for_all(long long* x) {
    __shared__ long long sum[THREADS];
    int t = threadIdx.x;
    long long value = x[blockIdx.x * THREADS + t];
    for (int d = THREADS / 2; d > 0; d /= 2) {
        sum[t] = value;
        __syncthreads();
        value += sum[t ^ d];
        __syncthreads();
    }
    x[blockIdx.x * THREADS + t] = value;
}

// The next step's store meets the partner's read.
extern "C" __global__ void sums_for_all_with_one_barrier(long long* x) {
    __shared__ long long sum[THREADS];
    int t = threadIdx.x;
    long long value = x[blockIdx.x * THREADS + t];
    for (int d = THREADS / 2; d > 0; d /= 2) {
        sum[t] = value;      // <- race
        __syncthreads();
        value += sum[t ^ d]; // <- race
    }
    x[blockIdx.x * THREADS + t] = value;
}

// One barrier is enough if the steps use two arrays in turn.
extern "C" __global__ void sums_for_all_in_turn(long long* x) {
    __shared__ long long sum[2][THREADS];
    int t = threadIdx.x, turn = 0;
    long long value = x[blockIdx.x * THREADS + t];
    for (int d = THREADS / 2; d > 0; d /= 2) {
        sum[turn][t] = value;
        __syncthreads();
        value += sum[turn][t ^ d];
        turn ^= 1;
    }
    x[blockIdx.x * THREADS + t] = value;
}
