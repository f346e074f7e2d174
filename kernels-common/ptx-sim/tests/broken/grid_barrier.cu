// Steps of x[i] = x[i - 1] + x[i + 1] on a ring of n elements, from one buffer to the other, with a barrier of the grid
// between the steps that is made by hand.

struct Barrier {
    unsigned arrived;
    unsigned generation;
};

// The last block to arrive clears the count and opens the next generation.
__device__ void meet(Barrier* barrier) {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned generation = *(volatile unsigned*)&barrier->generation;
        __threadfence();
        if (atomicAdd(&barrier->arrived, 1) == gridDim.x - 1) {
            *(volatile unsigned*)&barrier->arrived = 0;
            __threadfence();
            atomicAdd(&barrier->generation, 1);
        } else {
            while (*(volatile unsigned*)&barrier->generation == generation) {
            }
        }
        __threadfence();
    }
    __syncthreads();
}

__device__ void step(const unsigned* from, unsigned* to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[(i + n - 1) % n] + from[(i + 1) % n];
}

extern "C" __global__ void steps(unsigned* a, unsigned* b, int n, int steps, Barrier* barrier) {
    for (int k = 0; k < steps; ++k) {
        step(k % 2 ? b : a, k % 2 ? a : b, n);
        meet(barrier);
    }
}

// A count that only grows needs no second variable: the barrier is open when it has passed a multiple of the grid.
extern "C" __global__ void steps_with_growing_count(unsigned* a, unsigned* b, int n, int steps, Barrier* barrier) {
    for (int k = 0; k < steps; ++k) {
        step(k % 2 ? b : a, k % 2 ? a : b, n);
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(&barrier->arrived, 1);
            while (atomicAdd(&barrier->arrived, 0) < (k + 1) * gridDim.x) {
            }
            __threadfence();
        }
        __syncthreads();
    }
}

// Atomics alone do not order what the blocks do before and after.
extern "C" __global__ void steps_without_fences(unsigned* a, unsigned* b, int n, int steps, Barrier* barrier) {
    for (int k = 0; k < steps; ++k) {
        step(k % 2 ? b : a, k % 2 ? a : b, n); // <- race
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(&barrier->arrived, 1);
            while (atomicAdd(&barrier->arrived, 0) < (k + 1) * gridDim.x) {
            }
        }
        __syncthreads();
    }
}

// The count is not set back, so that only the first barrier holds anybody.
extern "C" __global__ void steps_without_reset(unsigned* a, unsigned* b, int n, int steps, Barrier* barrier) {
    for (int k = 0; k < steps; ++k) {
        step(k % 2 ? b : a, k % 2 ? a : b, n); // <- race
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(&barrier->arrived, 1);
            while (atomicAdd(&barrier->arrived, 0) < gridDim.x) {
            }
            __threadfence();
        }
        __syncthreads();
    }
}

// The first block sets the count back when it has passed; one that has not seen it full waits for good.
extern "C" __global__ void steps_with_early_reset(unsigned* a, unsigned* b, int n, int steps, Barrier* barrier) {
    for (int k = 0; k < steps; ++k) {
        step(k % 2 ? b : a, k % 2 ? a : b, n); // <- (race)
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(&barrier->arrived, 1);
            while (atomicAdd(&barrier->arrived, 0) < gridDim.x) { // <- livelock
            }
            if (blockIdx.x == 0) atomicExch(&barrier->arrived, 0);
            __threadfence();
        }
        __syncthreads();
    }
}
