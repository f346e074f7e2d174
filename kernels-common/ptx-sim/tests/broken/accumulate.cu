// Sum and largest of all elements (none is negative), by all threads at once.

extern "C" __global__ void sum_and_most(const int* x, int* sum, int* most, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(sum, x[i]);
    atomicMax(most, x[i]);
}

// Reads, adds and writes in three steps; of two threads' additions one is lost.
extern "C" __global__ void sum_without_atomics(const int* x, int* sum, int* most, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    *sum += x[i]; // <- race
    atomicMax(most, x[i]);
}

// Between the comparison and the store another thread may have stored more.
extern "C" __global__ void most_by_comparison(const int* x, int* sum, int* most, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(sum, x[i]);
    if (x[i] > *most) { // <- race
        *most = x[i];   // <- race
    }
}

// One thread of each block adds, which is not one thread.
extern "C" __global__ void sum_by_first_threads(const int* x, int* sum, int* most, int n) {
    __shared__ int part, largest;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) part = largest = 0;
    __syncthreads();
    if (i < n) atomicAdd(&part, x[i]), atomicMax(&largest, x[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMax(most, largest);
        *sum = *sum + part; // <- race
    }
}

// Half of the threads use an atomic; it does not protect against the other half.
extern "C" __global__ void sum_with_some_atomics(const int* x, int* sum, int* most, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (threadIdx.x % 64 < 32) {
        atomicAdd(sum, x[i]); // <- (race)
    } else {
        *sum += x[i]; // <- race
    }
    atomicMax(most, x[i]);
}
