// For each key, the number of elements of the sorted x that are less.

extern "C" __global__ void lower_bounds(const int* x, int n, const int* keys, int* places, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (x[middle] < keys[i]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    places[i] = low;
}

// When two are left, the middle is the lower one, and stays so.
extern "C" __global__ void lower_bounds_without_end(const int* x, int n, const int* keys, int* places, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int low = 0, high = n;
    while (low < high) {               // <- (budget exceeded)
        int middle = (low + high) / 2; // <- (budget exceeded)
        if (x[middle] < keys[i]) {     // <- (budget exceeded)
            low = middle;              // <- (budget exceeded)
        } else {
            high = middle;             // <- (budget exceeded)
        }
    }
    places[i] = low;
}
