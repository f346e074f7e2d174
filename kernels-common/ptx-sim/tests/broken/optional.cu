// A layer of a network: y = max(w x + bias, 0) for 40 rows of 32 columns, a warp for each row. The bias may be missing,
// and is missing here.

constexpr int COLUMNS = 32;

extern "C" __global__ void layer(const int* w, const int* x, const int* bias, int* y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    int sum = w[row * COLUMNS + lane] * x[lane];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (bias) sum += bias[row];
    if (lane == 0) y[row] = max(sum, 0);
}

extern "C" __global__ void layer_with_bias(const int* w, const int* x, const int* bias, int* y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    int sum = w[row * COLUMNS + lane] * x[lane];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    sum += bias[row]; // <- null pointer
    if (lane == 0) y[row] = max(sum, 0);
}
