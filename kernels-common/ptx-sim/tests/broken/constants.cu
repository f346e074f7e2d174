// y[i] = factor[i % 8] * x[i], with factors in constant memory; `factors` is the address that the host asked for.

__constant__ int factor[8] = {3, 1, 4, 1, 5, 9, 2, 6};

extern "C" __global__ void scaled(const int* x, int* y, int n, int* factors) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factor[i % 8] * x[i];
}

// Reads do not mind, but the factors cannot be changed from here.
extern "C" __global__ void scaled_and_changed(const int* x, int* y, int n, int* factors) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factors[i % 8] * x[i];
    if (i == 0) {
        factors[7] = factors[0] + 1; // <- write to read-only memory
    }
}
