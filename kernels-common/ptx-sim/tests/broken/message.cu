// The first block prepares a table for the others, which wait for its flag.

constexpr int TABLE = 64;

__device__ int entry(const int* x) { return x[threadIdx.x] * x[TABLE - 1 - threadIdx.x] + 1; }

extern "C" __global__ void look_up(const int* x, int* table, int* flag, int* y) {
    if (blockIdx.x == 0) {
        table[threadIdx.x] = entry(x);
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
    } else {
        if (threadIdx.x == 0) {
            while (atomicAdd(flag, 0) == 0) {
            }
            __threadfence();
        }
        __syncthreads();
    }
    int other = (threadIdx.x + blockIdx.x) % TABLE;
    y[blockIdx.x * TABLE + threadIdx.x] = table[other];
}

// A volatile flag does as well, and so does a fence in every thread.
extern "C" __global__ void look_up_with_volatile_flag(const int* x, int* table, volatile int* flag, int* y) {
    if (blockIdx.x == 0) {
        table[threadIdx.x] = entry(x);
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) *flag = 1;
    } else {
        while (*flag == 0) {
        }
        __threadfence();
    }
    int other = (threadIdx.x + blockIdx.x) % TABLE;
    y[blockIdx.x * TABLE + threadIdx.x] = table[other];
}

// The flag is a variable like any other: nothing orders it, or makes the compiler look at it twice.
extern "C" __global__ void look_up_with_plain_flag(const int* x, int* table, int* flag, int* y) {
    if (blockIdx.x == 0) {
        table[threadIdx.x] = entry(x);
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            *flag = 1; // <- race
        }
    } else {
        while (*flag == 0) { // <- race
            __nanosleep(20);
        }
        __threadfence();
    }
    int other = (threadIdx.x + blockIdx.x) % TABLE;
    y[blockIdx.x * TABLE + threadIdx.x] = table[other];
}

// Volatile makes the compiler look, but orders nothing.
extern "C" __global__ void look_up_without_fences(const int* x, int* table, volatile int* flag, int* y) {
    if (blockIdx.x == 0) {
        table[threadIdx.x] = entry(x); // <- race
        __syncthreads();
        if (threadIdx.x == 0) *flag = 1;
    } else {
        while (*flag == 0) {
        }
    }
    int other = (threadIdx.x + blockIdx.x) % TABLE;
    y[blockIdx.x * TABLE + threadIdx.x] = table[other]; // <- race
}

// The fence comes after the flag that it should precede.
extern "C" __global__ void look_up_with_late_fence(const int* x, int* table, volatile int* flag, int* y) {
    if (blockIdx.x == 0) {
        table[threadIdx.x] = entry(x); // <- race
        __syncthreads();
        if (threadIdx.x == 0) *flag = 1;
        __threadfence();
    } else {
        while (*flag == 0) {
        }
        __threadfence();
    }
    int other = (threadIdx.x + blockIdx.x) % TABLE;
    y[blockIdx.x * TABLE + threadIdx.x] = table[other]; // <- race
}

// The fence comes before the stores that it should follow.
extern "C" __global__ void look_up_with_early_fence(const int* x, int* table, volatile int* flag, int* y) {
    if (blockIdx.x == 0) {
        int value = entry(x);
        __threadfence();
        table[threadIdx.x] = value; // <- race
        __syncthreads();
        if (threadIdx.x == 0) *flag = 1;
    } else {
        while (*flag == 0) {
        }
        __threadfence();
    }
    int other = (threadIdx.x + blockIdx.x) % TABLE;
    y[blockIdx.x * TABLE + threadIdx.x] = table[other]; // <- race
}

// The reader's fence is missing: it may have read the table before the flag.
extern "C" __global__ void look_up_without_acquire(const int* x, int* table, volatile int* flag, int* y) {
    if (blockIdx.x == 0) {
        table[threadIdx.x] = entry(x); // <- race
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) *flag = 1;
    } else {
        while (*flag == 0) {
        }
    }
    int other = (threadIdx.x + blockIdx.x) % TABLE;
    y[blockIdx.x * TABLE + threadIdx.x] = table[other]; // <- race
}

// The flag tells that the first thread is done, not the block.
extern "C" __global__ void look_up_without_barrier(const int* x, int* table, volatile int* flag, int* y) {
    if (blockIdx.x == 0) {
        table[threadIdx.x] = entry(x); // <- race
        __threadfence();
        if (threadIdx.x == 0) *flag = 1;
    } else {
        while (*flag == 0) {
        }
        __threadfence();
    }
    int other = (threadIdx.x + blockIdx.x) % TABLE;
    y[blockIdx.x * TABLE + threadIdx.x] = table[other]; // <- race (uninitialised read)
}

// The flag is waited for by one thread, and the rest of its block goes ahead.
extern "C" __global__ void look_up_with_one_waiting(const int* x, int* table, volatile int* flag, int* y) {
    if (blockIdx.x == 0) {
        table[threadIdx.x] = entry(x); // <- race
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) *flag = 1;
    } else if (threadIdx.x == 0) {
        while (*flag == 0) {
        }
        __threadfence();
    }
    int other = (threadIdx.x + blockIdx.x) % TABLE;
    y[blockIdx.x * TABLE + threadIdx.x] = table[other]; // <- race (uninitialised read)
}
