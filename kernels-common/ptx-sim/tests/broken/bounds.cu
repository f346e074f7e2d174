// Differences to both neighbours: y[i] = 2 x[i] - x[i - 1] - x[i + 1], with zeros around; all of x and y is used.

extern "C" __global__ void curvature(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float left = i > 0 ? x[i - 1] : 0, right = i < n - 1 ? x[i + 1] : 0;
        y[i] = 2 * x[i] - left - right;
    }
}

// One round too many for one thread.
extern "C" __global__ void curvature_with_one_more(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i <= n; i += gridDim.x * blockDim.x) {
        float left = i > 0 ? x[i - 1] : 0, right = i < n - 1 ? x[i + 1] : 0;
        y[i] = 2 * x[i] - left - right; // <- out of bounds
    }
}

// The launch has more threads than there are elements.
extern "C" __global__ void curvature_without_guard(const float* x, float* y, int n) {
    int stride = gridDim.x * blockDim.x, rounds = (n + stride - 1) / stride;
    for (int round = 0; round < rounds; ++round) {
        int i = round * stride + blockIdx.x * blockDim.x + threadIdx.x;
        float left = i > 0 && i <= n ? x[i - 1] : 0, right = i < n - 1 ? x[i + 1] : 0;
        y[i] = 2 * x[i] - left - right; // <- out of bounds
    }
}

// The last element has no neighbour to the right.
extern "C" __global__ void curvature_with_wrong_halo(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float left = i > 0 ? x[i - 1] : 0;
        float right = i <= n - 1 ? x[i + 1] : 0; // <- out of bounds
        y[i] = 2 * x[i] - left - right;
    }
}

// The first one has none to the left.
extern "C" __global__ void curvature_with_negative_index(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float left = x[i - 1]; // <- out of bounds
        float right = i < n - 1 ? x[i + 1] : 0;
        y[i] = 2 * x[i] - left - right;
    }
}

// Indices without a sign: there is no -1, but a place far away.
extern "C" __global__ void curvature_with_unsigned_index(const float* x, float* y, int n) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float left = x[max(i - 1, 0)]; // <- out of bounds
        float right = i + 1 < n ? x[i + 1] : 0;
        y[i] = 2 * x[i] - left - right;
    }
}

// Elements of four bytes are counted in bytes.
extern "C" __global__ void curvature_with_byte_offset(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float left = i > 0 ? x[i - 1] : 0, right = i < n - 1 ? x[i + 1] : 0;
        y[i * sizeof(float)] = 2 * x[i] - left - right; // <- out of bounds
    }
}
