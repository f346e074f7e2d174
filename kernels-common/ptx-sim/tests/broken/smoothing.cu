// Steps of a three-point average on a rod of 128 cells whose ends are held, in one block.

constexpr int CELLS = 128;

// In place: every cell is read by all before any is written.
extern "C" __global__ void smooth(float* rod, int steps) {
    __shared__ float cell[CELLS];
    int i = threadIdx.x;
    cell[i] = rod[i];
    bool inner = i > 0 && i < CELLS - 1;
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        float next = inner ? 0.25f * cell[i - 1] + 0.5f * cell[i] + 0.25f * cell[i + 1] : cell[i];
        __syncthreads();
        cell[i] = next;
        __syncthreads();
    }
    rod[i] = cell[i];
}

// With two buffers, one barrier a step is enough.
extern "C" __global__ void smooth_double_buffered(float* rod, int steps) {
    __shared__ float cell[2][CELLS];
    int i = threadIdx.x;
    cell[0][i] = rod[i];
    bool inner = i > 0 && i < CELLS - 1;
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        const float* from = cell[step % 2];
        cell[(step + 1) % 2][i] = inner ? 0.25f * from[i - 1] + 0.5f * from[i] + 0.25f * from[i + 1] : from[i];
        __syncthreads();
    }
    rod[i] = cell[steps % 2][i];
}

// The barrier between reading and writing is missing.
extern "C" __global__ void smooth_in_place(float* rod, int steps) {
    __shared__ float cell[CELLS];
    int i = threadIdx.x;
    cell[i] = rod[i];
    bool inner = i > 0 && i < CELLS - 1;
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        float next = cell[i];
        if (inner) next = 0.25f * cell[i - 1] + 0.5f * next + 0.25f * cell[i + 1]; // <- race
        cell[i] = next;                                                           // <- race
        __syncthreads();
    }
    rod[i] = cell[i];
}

// The barrier at the end of a step is missing.
extern "C" __global__ void smooth_without_end_of_step(float* rod, int steps) {
    __shared__ float cell[CELLS];
    int i = threadIdx.x;
    cell[i] = rod[i];
    bool inner = i > 0 && i < CELLS - 1;
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        float next = cell[i];
        if (inner) next = 0.25f * cell[i - 1] + 0.5f * next + 0.25f * cell[i + 1]; // <- race
        __syncthreads();
        cell[i] = next;                                                           // <- race
    }
    rod[i] = cell[i];
}

// The buffers do not change roles at every step, but at every second one.
extern "C" __global__ void smooth_with_late_exchange(float* rod, int steps) {
    __shared__ float cell[2][CELLS];
    int i = threadIdx.x;
    cell[0][i] = cell[1][i] = rod[i];
    bool inner = i > 0 && i < CELLS - 1;
    __syncthreads();
    for (int step = 0; step < steps; ++step) {
        const float* from = cell[step / 2 % 2];
        float next = from[i];
        if (inner) next = 0.25f * from[i - 1] + 0.5f * next + 0.25f * from[i + 1]; // <- race
        cell[(step + 1) % 2][i] = next;                                           // <- race
        __syncthreads();
    }
    rod[i] = cell[steps % 2][i];
}
