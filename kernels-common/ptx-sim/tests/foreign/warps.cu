// Operations of a warp, some of which compute capability 8.0 has as one instruction.

__device__ unsigned sum_of(unsigned mask, unsigned value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(mask, value);
#else
    unsigned sum = 0;
    for (unsigned rest = mask; rest; rest &= rest - 1) sum += __shfl_sync(mask, value, __ffs(rest) - 1);
    return sum;
#endif
}

// The sum of the values of each key within its warp, at its first lane.
extern "C" __global__ void sum_by_key(const unsigned* keys, const unsigned* values, unsigned* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    unsigned key = i < n ? keys[i] : ~0u, value = i < n ? values[i] : 0;
    unsigned peers = __match_any_sync(0xffffffff, key);
    unsigned sum = 0;
    // One group of equal keys at a time takes the branch.
    for (unsigned todo = 0xffffffff; todo;) {
        unsigned group = __shfl_sync(0xffffffff, peers, __ffs(todo) - 1);
        if (group >> lane & 1) sum = sum_of(group, value);
        __syncwarp();
        todo &= ~group;
    }
    if (i < n) sums[i] = lane == __ffs(peers) - 1 ? sum : 0;
}

extern "C" __global__ void votes(const unsigned long long* x, unsigned* out, int* same) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long value = x[i];
    int all_same;
    unsigned mask = __match_all_sync(0xffffffff, value, &all_same);
    unsigned peers = __match_any_sync(0xffffffff, value);
    bool all = __all_sync(0xffffffff, value < 5), any = __any_sync(0xffffffff, value == 3);
    out[i] = peers;
    same[i] = (all_same ? 1 : 0) | (mask != 0) << 1 | all << 2 | any << 3;
}

extern "C" __global__ void reductions(const int* x, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    int value = x[i];
    if (lane % 4 != 1) {
        unsigned mask = 0xdddddddd;
#if __CUDA_ARCH__ >= 800
        int low = __reduce_min_sync(mask, value), high = __reduce_max_sync(mask, value);
        unsigned top = __reduce_max_sync(mask, (unsigned)value);
        unsigned all = __reduce_and_sync(mask, value | 1), some = __reduce_or_sync(mask, value);
        unsigned bits = all ^ some ^ __reduce_xor_sync(mask, value);
#else
        int low = value, high = value;
        unsigned top = value, all = value | 1, some = value, odd = value;
        for (int d = 1; d < 32; ++d) {
            int from = (lane + d) & 31;
            int other = __shfl_sync(mask, value, mask >> from & 1 ? from : lane);
            if (!(mask >> from & 1)) continue;
            low = min(low, other);
            high = max(high, other);
            top = max(top, (unsigned)other);
            all &= other | 1;
            some |= other;
            odd ^= other;
        }
        unsigned bits = all ^ some ^ odd;
#endif
        out[i] = low + 3 * high + 5 * (int)top + 7 * (int)bits;
    } else {
        out[i] = -1;
    }
}

// Shuffles of all kinds and widths, also of 64 bits.
extern "C" __global__ void shuffles(const double* x, double* out, long long* wide) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double v = x[i];
    out[i] = __shfl_up_sync(~0u, v, 3) + 10 * __shfl_down_sync(~0u, v, 5, 8) + 100 * __shfl_xor_sync(~0u, v, 6, 16) +
             1000 * __shfl_sync(~0u, v, i + 1, 4);
    wide[i] = __shfl_sync(~0u, (long long)i << 33 | 7, 31 - threadIdx.x % 32);
}
