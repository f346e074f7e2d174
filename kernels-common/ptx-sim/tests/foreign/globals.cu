// Variables of a module: with initial values, tables, and pointers to one another.

struct Level {
    float gain;
    int shift;
    const short* curve;
};

__device__ const short linear[4] = {0, 1, 2, 3};
__device__ const short square[4] = {0, 1, 4, 9};
__constant__ short cube[4] = {0, 1, 8, 27};

__device__ Level levels[3] = {{0.5f, 1, linear}, {-2.0f, 3, square}, {1e-3f, 0, linear + 1}};
__device__ const Level* chosen = &levels[1];
__device__ double bias = -0.125;
__device__ unsigned long long calls;
__device__ unsigned char marks[5] = {'r', 'u', 'n', 'g', 's'};
__constant__ double coefficients[2][3] = {{1.0, -0.5, 0.25}, {3.0, 1e300, -1e-300}};
__device__ bool enabled = true;

extern "C" __global__ void use_tables(double* out, unsigned char* text, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Level& level = levels[i % 3];
    double value = bias + level.gain * (double)(level.curve[i % (i % 3 == 2 ? 3 : 4)] << level.shift);
    value += chosen->gain + cube[i & 3] + coefficients[i & 1][i % 3];
    out[i] = enabled ? value : 0;
    text[i] = marks[i % 5];
    atomicAdd(&calls, (unsigned long long)i);
}

// What one launch leaves, the next one finds.
extern "C" __global__ void choose(int which, double new_bias) {
    chosen = levels + which;
    bias = new_bias;
    levels[which].gain = -levels[which].gain;
    enabled = which != 2;
}

// A static variable of the function, and a constant table that is indexed by a lane.
extern "C" __global__ void tickets(unsigned* out) {
    static __device__ unsigned next = 1000;
    static const unsigned char order[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    if (threadIdx.x == 0) out[blockIdx.x] = atomicAdd(&next, 1);
    if (threadIdx.x < 8) out[gridDim.x + blockIdx.x * 8 + threadIdx.x] = order[(threadIdx.x + blockIdx.x) % 8];
}
