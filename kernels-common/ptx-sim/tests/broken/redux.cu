// arch: 80
// The sum of the positive elements of each warp's 32, by the reduction that came with compute capability 8.0.

extern "C" __global__ void positive_sums(const int* x, int* sums) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool positive = x[i] > 0;
    unsigned mask = __ballot_sync(0xffffffff, positive);
    int sum = 0;
    if (positive) sum = __reduce_add_sync(mask, x[i]);
    if (mask == 0 ? threadIdx.x % 32 == 0 : positive && threadIdx.x % 32 == __ffs(mask) - 1) sums[i / 32] = sum;
}

// All lanes execute what the mask says some do.
extern "C" __global__ void positive_sums_of_all(const int* x, int* sums) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned mask = __ballot_sync(0xffffffff, x[i] > 0);
    int sum = __reduce_add_sync(mask, max(x[i], 0)); // <- bad operand
    if (threadIdx.x % 32 == 0) sums[i / 32] = sum;
}

// The branch is taken by some, but the mask names all; the others have gone on to the next reduction.
extern "C" __global__ void positive_sums_under_a_branch(const int* x, int* sums) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    if (x[i] > 0) sum = __reduce_add_sync(0xffffffff, x[i]); // <- deadlock
    sum = __reduce_max_sync(0xffffffff, sum);                // <- (deadlock)
    if (threadIdx.x % 32 == 0) sums[i / 32] = sum;
}
