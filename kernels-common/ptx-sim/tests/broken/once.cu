// A table that the first block to need it prepares, for all: y[i] = table[x[i]].

constexpr int TABLE = 64;
constexpr int EMPTY = 0, BUSY = 1, READY = 2;

extern "C" __global__ void through_table(const unsigned char* x, int* y, int* table, int* state) {
    __shared__ int before;
    if (threadIdx.x == 0) before = atomicCAS(state, EMPTY, BUSY);
    __syncthreads();
    if (before == EMPTY) {
        table[threadIdx.x] = threadIdx.x * threadIdx.x;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) atomicExch(state, READY);
    } else {
        while (*(volatile int*)state != READY) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
    int i = blockIdx.x * TABLE + threadIdx.x;
    y[i] = table[x[i] % TABLE];
}

// Whoever finds that another has begun takes it for done.
extern "C" __global__ void through_table_begun(const unsigned char* x, int* y, int* table, int* state) {
    __shared__ int before;
    if (threadIdx.x == 0) before = atomicCAS(state, EMPTY, BUSY);
    __syncthreads();
    if (before == EMPTY) {
        table[threadIdx.x] = threadIdx.x * threadIdx.x; // <- race
        __threadfence();
    }
    __syncthreads();
    int i = blockIdx.x * TABLE + threadIdx.x;
    y[i] = table[x[i] % TABLE]; // <- race (uninitialised read)
}

// The look before the lock: who sees that the table is ready need not see the table.
extern "C" __global__ void through_table_looked_at_twice(const unsigned char* x, int* y, int* table, int* state) {
    __shared__ int seen, before;
    if (threadIdx.x == 0) seen = *(volatile int*)state;
    __syncthreads();
    if (seen != READY) {
        if (threadIdx.x == 0) {
            while ((before = atomicCAS(state, EMPTY, BUSY)) == BUSY) __nanosleep(20);
            __threadfence();
        }
        __syncthreads();
        if (before == EMPTY) {
            table[threadIdx.x] = threadIdx.x * threadIdx.x; // <- race
            __threadfence();
            __syncthreads();
            if (threadIdx.x == 0) atomicExch(state, READY);
        }
    }
    __syncthreads();
    int i = blockIdx.x * TABLE + threadIdx.x;
    y[i] = table[x[i] % TABLE]; // <- race
}

// Every block that finds the table empty prepares it, and another may read it meanwhile.
extern "C" __global__ void through_table_by_all(const unsigned char* x, int* y, int* table, int* state) {
    __shared__ int seen;
    if (threadIdx.x == 0) seen = *(volatile int*)state;
    __syncthreads();
    if (seen != READY) {
        table[threadIdx.x] = threadIdx.x * threadIdx.x; // <- (race)
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) atomicExch(state, READY);
    }
    __syncthreads();
    int i = blockIdx.x * TABLE + threadIdx.x;
    y[i] = table[x[i] % TABLE]; // <- (race)
}
