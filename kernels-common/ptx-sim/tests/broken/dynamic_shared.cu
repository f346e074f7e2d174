// The place of the largest element of each block's 64, by a tree over values and places in dynamic shared memory. The
// launch gives 8 bytes a thread.

extern __shared__ char memory[];

extern "C" __global__ void place_of_largest(const float* x, int* places) {
    float* value = (float*)memory;
    int* place = (int*)(value + blockDim.x);
    int t = threadIdx.x;
    value[t] = x[blockIdx.x * blockDim.x + t], place[t] = t;
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        __syncthreads();
        if (t < d && value[t + d] > value[t]) value[t] = value[t + d], place[t] = place[t + d];
    }
    if (t == 0) places[blockIdx.x] = place[0];
}

// Places of eight bytes, for which the launch has no room.
extern "C" __global__ void wide_place_of_largest(const float* x, int* places) {
    float* value = (float*)memory;
    long long* place = (long long*)(value + blockDim.x);
    int t = threadIdx.x;
    value[t] = x[blockIdx.x * blockDim.x + t];
    place[t] = t; // <- out of bounds
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        __syncthreads();
        if (t < d && value[t + d] > value[t]) value[t] = value[t + d], place[t] = place[t + d];
    }
    if (t == 0) places[blockIdx.x] = place[0];
}

// Who has no neighbour finds out too late: the values, which come last here, end before it.
extern "C" __global__ void place_of_largest_past_the_end(const float* x, int* places) {
    int* place = (int*)memory;
    float* value = (float*)(place + blockDim.x);
    int t = threadIdx.x;
    value[t] = x[blockIdx.x * blockDim.x + t], place[t] = t;
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        __syncthreads();
        if (value[t + d] > value[t] && t < d) { // <- out of bounds
            value[t] = value[t + d], place[t] = place[t + d];
        }
    }
    if (t == 0) places[blockIdx.x] = place[0];
}

// The second array starts at an odd place, because the first one has an element more.
extern "C" __global__ void place_of_largest_misaligned(const float* x, int* places) {
    char* found = memory;
    int* place = (int*)(memory + 1);
    float* value = (float*)memory + blockDim.x;
    int t = threadIdx.x;
    if (t == 0) *found = 0;
    value[t] = x[blockIdx.x * blockDim.x + t];
    if (t < blockDim.x - 1) {
        place[t] = t; // <- misaligned
    }
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        __syncthreads();
        if (t < d && value[t + d] > value[t]) value[t] = value[t + d], place[t] = place[t + d];
    }
    if (t == 0) places[blockIdx.x] = place[0];
}
