// A square matrix of 12 x 12 is transposed in place by one block, a thread for each element.

constexpr int SIDE = 12;

extern "C" __global__ void transpose(int* matrix) {
    int row = threadIdx.y, column = threadIdx.x;
    int value = matrix[column * SIDE + row];
    __syncthreads();
    matrix[row * SIDE + column] = value;
}

// An element may be overwritten before the thread that moves it has read it.
extern "C" __global__ void transpose_without_barrier(int* matrix) {
    int row = threadIdx.y, column = threadIdx.x;
    int value = matrix[column * SIDE + row]; // <- race
    matrix[row * SIDE + column] = value;     // <- race
}

// Both threads of a pair exchange it, where one of them should.
extern "C" __global__ void transpose_exchanged_twice(int* matrix) {
    int row = threadIdx.y, column = threadIdx.x;
    int above = matrix[row * SIDE + column];   // <- (race)
    int below = matrix[column * SIDE + row];   // <- (race)
    if (row != column) {
        matrix[row * SIDE + column] = below;   // <- race
        matrix[column * SIDE + row] = above;   // <- (race)
    }
}
