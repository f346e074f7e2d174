// Conway's game of life on a torus, a byte a cell.

extern "C" __global__ void life(const unsigned char* __restrict__ now, unsigned char* __restrict__ next, int width,
                                int height) {
    for (int cell = blockIdx.x * blockDim.x + threadIdx.x; cell < width * height; cell += gridDim.x * blockDim.x) {
        int x = cell % width, y = cell / width;
        int left = (x + width - 1) % width, right = (x + 1) % width;
        int up = (y + height - 1) % height * width, down = (y + 1) % height * width, here = y * width;
        int alive = now[up + left] + now[up + x] + now[up + right] + now[here + left] + now[here + right] +
                    now[down + left] + now[down + x] + now[down + right];
        next[cell] = alive == 3 || (alive == 2 && now[cell]);
    }
}

// 32 cells in a word: neighbours are counted by adders that work on all bits at once.
__device__ void add(unsigned a, unsigned b, unsigned c, unsigned& sum, unsigned& carry) {
    sum = a ^ b ^ c;
    carry = (a & b) | (c & (a ^ b));
}

extern "C" __global__ void life_bits(const unsigned* now, unsigned* next, int words, int height) {
    int word = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (word >= words) return;
    unsigned low[3], high[3], here = 0, sides_low = 0, sides_high = 0;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        const unsigned* line = now + (row + height + k - 1) % height * words;
        unsigned middle = line[word];
        unsigned left = __funnelshift_l(line[(word + words - 1) % words], middle, 1);
        unsigned right = __funnelshift_r(middle, line[(word + 1) % words], 1);
        if (k == 1) {
            here = middle;
            sides_low = left ^ right;
            sides_high = left & right;
        } else {
            add(left, middle, right, low[k], high[k]);
        }
    }
    unsigned one, carry, two, four;
    add(low[0], low[2], sides_low, one, carry);
    unsigned first, second;
    add(high[0], high[2], sides_high, first, second);
    two = first ^ carry;
    four = second | (first & carry);
    next[row * words + word] = two & ~four & (one | here);
}
