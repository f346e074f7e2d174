// Calls, a switch, constant and local memory. See README.md for how the PTX is made.
struct Point {
    int x;
    double y;
};

__constant__ float table[4] = {1.0f, -2.5f};
__device__ int counter = 5;

__device__ __noinline__ int squared(int n) { return n * n; }

__device__ __noinline__ Point point(int n, float scale) { return {squared(n), n * scale}; }

__global__ void calls(int* out, Point offset) {
    Point p = point(threadIdx.x, table[threadIdx.x & 3]);
    out[threadIdx.x] = p.x + offset.x + static_cast<int>(p.y + offset.y);
    atomicAdd(&counter, 1);
}

__global__ void __launch_bounds__(128) choose(int* out, int n) {
    int i = threadIdx.x;
    int r;
    switch (out[i]) {
    case 0: r = n; break;
    case 1: r = n * 3; break;
    case 2: r = n / (i + 1); break;
    case 3: r = squared(n); break;
    case 4: r = n ^ i; break;
    case 5: r = __popc(n); break;
    case 6: r = out[i + 1]; break;
    default: r = -1;
    }
    out[i] = r;
}

__global__ void local(int* out, int n, int k) {
    int a[40];
    for (int i = 0; i < 40; i++) a[i] = out[i] * n;
    for (int i = 0; i < n; i++) a[(i * k) % 40] += a[i % 40];
    out[0] = a[k];
}
