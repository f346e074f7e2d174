// nvcc: -lineinfo
// Device functions that stay functions, local arrays, recursion.

// An array that is indexed by a value lives in local memory.
__device__ __noinline__ int median(const int* x, int n) {
    int sorted[9];
    for (int i = 0; i < n; ++i) {
        int value = x[i], place = i;
        while (place > 0 && sorted[place - 1] > value) {
            sorted[place] = sorted[place - 1];
            --place;
        }
        sorted[place] = value;
    }
    return sorted[n / 2];
}

// A median filter over windows of up to nine values.
extern "C" __global__ void median_filter(const int* x, int* y, int n, int radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int from = max(i - radius, 0), to = min(i + radius, n - 1);
    y[i] = median(x + from, to - from + 1);
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recursion(unsigned* out) {
    unsigned t = threadIdx.x;
    out[t] = ackermann(t % 3, t / 3 % 5);
}

struct Fraction {
    long long numerator, denominator;
};

__device__ __noinline__ long long gcd(long long a, long long b) {
    while (b) {
        long long r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

// Structs by value as argument and result.
__device__ __noinline__ Fraction add(Fraction a, Fraction b) {
    long long n = a.numerator * b.denominator + b.numerator * a.denominator, d = a.denominator * b.denominator;
    long long g = gcd(n, d);
    return {n / g, d / g};
}

extern "C" __global__ void harmonic(const int* terms, Fraction* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    Fraction sum = {0, 1};
    for (int k = 1; k <= terms[i]; ++k) sum = add(sum, {k % 2 ? 1 : -1, k});
    out[i] = sum;
}

// The eight queens' problem by backtracking, with the board in local memory. Each thread takes one place of the first
// queen.
extern "C" __global__ void queens(int size, unsigned* solutions) {
    signed char column[12];
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    if (first >= size) return;
    column[0] = first;
    column[1] = -1;
    int row = 1;
    unsigned found = 0;
    while (row > 0) {
        bool free = false;
        while (!free && ++column[row] < size) {
            free = true;
            for (int r = 0; r < row; ++r) {
                int d = column[r] - column[row];
                free &= d != 0 && d != row - r && d != r - row;
            }
        }
        if (!free) --row;
        else if (row == size - 1) ++found;
        else column[++row] = -1;
    }
    atomicAdd(solutions, found);
}
