// Compiled without optimisation, for debugging. See README.md for how the PTX is made.
__global__ void scale(float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float scaled = a * x[i];
        x[i] = scaled;
    }
}
