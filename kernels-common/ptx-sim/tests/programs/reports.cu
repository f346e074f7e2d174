// What a kernel tells: printf and assert.
// nvcc:
#include <cassert>
#include <cstdio>

extern "C" __global__ void prints(const double *x) {
    printf("%s %d of block %u: %.3f %e %g\n", threadIdx.x % 2 ? "odd" : "even", threadIdx.x, blockIdx.x, x[threadIdx.x],
           x[threadIdx.x], x[threadIdx.x]);
    if (threadIdx.x == 2) printf("%lld|%5d|%-5d|%05x|%c%c|%%\n", 1ll << 40, 42, -7, 0xbeef, 'o', 'k');
}

extern "C" __global__ void plain(int *out) { out[0] = printf("nothing to fill in\n") + 10 * printf("%d%d\n", 1, 2); }

extern "C" __global__ void asserts(int *x, int n) {
    assert(threadIdx.x < n);
    x[threadIdx.x] = 1;
}
