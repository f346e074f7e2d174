// One step of the heat equation on a plane: a five-point stencil on a tile with a halo of one cell in shared memory.
// Cells outside the plane have the value of the nearest cell in it.

#define W 32
#define H 8

__device__ __forceinline__ float at(const float* x, int width, int height, int column, int row) {
    column = min(max(column, 0), width - 1);
    row = min(max(row, 0), height - 1);
    return x[row * width + column];
}

extern "C" __global__ void heat(const float* __restrict__ x, float* __restrict__ y, int width, int height, float rate) {
    __shared__ float s[H + 2][W + 2];
    int left = blockIdx.x * W - 1, top = blockIdx.y * H - 1;
    for (int i = threadIdx.y * W + threadIdx.x; i < (W + 2) * (H + 2); i += W * H)
        s[i / (W + 2)][i % (W + 2)] = at(x, width, height, left + i % (W + 2), top + i / (W + 2));
    __syncthreads();
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int column = left + tx, row = top + ty;
    if (column >= width || row >= height) return;
    float middle = s[ty][tx];
    float around = __fadd_rn(__fadd_rn(s[ty - 1][tx], s[ty + 1][tx]), __fadd_rn(s[ty][tx - 1], s[ty][tx + 1]));
    y[row * width + column] = fmaf(rate, fmaf(-4.0f, middle, around), middle);
}

// A 3-D stencil of seven points that marches along z with the planes before and behind in registers.
extern "C" __global__ void laplace_3d(const double* __restrict__ x, double* __restrict__ y, int nx, int ny, int nz) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    bool inner = i > 0 && j > 0 && i < nx - 1 && j < ny - 1;
    if (!inner) return;
    size_t plane = (size_t)nx * ny, at = (size_t)j * nx + i;
    double below = x[at], here = x[at + plane];
    for (int z = 1; z < nz - 1; ++z) {
        at += plane;
        double above = x[at + plane];
        double around = x[at - 1] + x[at + 1] + x[at - nx] + x[at + nx] + below + above;
        y[at] = fma(-6.0, here, around);
        below = here;
        here = above;
    }
}
