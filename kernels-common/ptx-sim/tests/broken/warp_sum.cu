// Sums of 64 elements by blocks of 64: a tree in shared memory, whose last steps are within one warp.

extern "C" __global__ void warp_sum(const float* x, float* sums) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        if (d > 16) {
            __syncthreads();
        } else {
            __syncwarp();
        }
    }
    if (t == 0) sums[blockIdx.x] = s[0];
}

// Only the first warp goes on, and all of its lanes keep together: each step reads, meets, writes, meets.
extern "C" __global__ void warp_sum_unrolled(const float* x, float* sums) {
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    if (t < 32) {
        float sum = s[t] + s[t + 32];
#pragma unroll
        for (int d = 16; d > 0; d /= 2) {
            __syncwarp();
            s[t] = sum;
            __syncwarp();
            sum += s[t ^ d];
        }
        if (t == 0) sums[blockIdx.x] = sum;
    }
}

// The barrier of the warp is missing.
extern "C" __global__ void warp_sum_without_barrier(const float* x, float* sums) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (t < d) {
            s[t] += s[t + d]; // <- race
        }
        if (d > 16) __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = s[0]; // <- (race)
}

// The unrolled last warp as it was written for devices whose warps ran in step.
extern "C" __global__ void warp_sum_volatile(const float* x, float* sums) {
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32]; // <- race
        s[t] += s[t + 16]; // <- race
        s[t] += s[t + 8];  // <- (race)
        s[t] += s[t + 4];  // <- (race)
        s[t] += s[t + 2];  // <- (race)
        s[t] += s[t + 1];  // <- (race)
    }
    if (t == 0) sums[blockIdx.x] = s[0]; // <- (race)
}

// The steps are kept apart, but a step's reads are not from its writes: lane t + d may write what lane t reads.
extern "C" __global__ void warp_sum_without_read_before_write(const float* x, float* sums) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    if (t < 32) {
        for (int d = 32; d > 0; d /= 2) {
            s[t] += s[(t + d) % 64]; // <- race
            __syncwarp();
        }
    }
    if (t == 0) sums[blockIdx.x] = s[0];
}

// The mask leaves out the upper half of the warp, which is to wait too.
extern "C" __global__ void warp_sum_with_half_a_mask(const float* x, float* sums) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        if (d > 16) {
            __syncthreads();
        } else if (t < 32) {
            __syncwarp(0x0000ffff); // <- bad operand
        }
    }
    if (t == 0) sums[blockIdx.x] = s[0];
}

// The mask names the lanes of the next step; the others of this step have no barrier with them.
extern "C" __global__ void warp_sum_with_narrow_masks(const float* x, float* sums) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (t < d) {
            s[t] += s[t + d]; // <- race
        }
        if (d > 16) {
            __syncthreads();
        } else if (t < d / 2) {
            __syncwarp((1u << d / 2) - 1);
        }
    }
    if (t == 0) sums[blockIdx.x] = s[0]; // <- (race)
}

// The warp's barrier is under a branch that half of it does not take; it waits for the others at the block's barrier.
extern "C" __global__ void warp_sum_with_barrier_in_branch(const float* x, float* sums) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    if (t < 32) s[t] += s[t + 32];
    __syncthreads();
    for (int d = 16; d > 0; d /= 2) {
        if (t < d) {
            s[t] += s[t + d];
            __syncwarp(); // <- (deadlock, divergent barrier)
        }
    }
    __syncthreads(); // <- (deadlock, divergent barrier)
    if (t == 0) sums[blockIdx.x] = s[0];
}
