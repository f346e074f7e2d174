// Hash tables with open addressing. A thread claims a slot by a compare-and-swap on its key.

typedef unsigned long long u64;

__device__ unsigned hash(unsigned x) {
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

// Counts how often each key occurs. Keys are not 0xffffffff, which marks a free slot.
extern "C" __global__ void count_keys(const unsigned* keys, int n, unsigned* slots, unsigned* counts, unsigned mask) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = keys[i];
    for (unsigned slot = hash(key) & mask;; slot = (slot + 1) & mask) {
        unsigned old = atomicCAS(slots + slot, ~0u, key);
        if (old == ~0u || old == key) {
            atomicAdd(counts + slot, 1);
            return;
        }
    }
}

// Key and value in one 64-bit word; of several values of a key the largest stays.
extern "C" __global__ void insert_pairs(const uint2* pairs, int n, u64* table, unsigned mask) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint2 pair = pairs[i];
    u64 mine = (u64)pair.x << 32 | pair.y;
    unsigned slot = hash(pair.x) & mask;
    u64 seen = table[slot];
    while (true) {
        if (seen != ~0ull && seen >> 32 != pair.x) {
            slot = (slot + 1) & mask;
            seen = table[slot];
            continue;
        }
        if (seen != ~0ull && (unsigned)seen >= pair.y) return;
        u64 old = atomicCAS(table + slot, seen, mine);
        if (old == seen) return;
        seen = old;
    }
}

extern "C" __global__ void look_up(const u64* table, unsigned mask, const unsigned* keys, int n, int* values) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned slot = hash(keys[i]) & mask;
    int value = -1;
    for (u64 entry; (entry = table[slot]) != ~0ull; slot = (slot + 1) & mask) {
        if (entry >> 32 == keys[i]) {
            value = (int)entry;
            break;
        }
    }
    values[i] = value;
}

// 16-bit compare-and-swap: a union-find over small vertex numbers, with hooking to the smaller root.
extern "C" __global__ void unite(const ushort2* edges, int n, unsigned short* parent) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    volatile unsigned short* p = parent;
    unsigned short a = edges[i].x, b = edges[i].y;
    while (true) {
        while (p[a] != a) a = p[a];
        while (p[b] != b) b = p[b];
        if (a == b) return;
        if (a < b) {
            unsigned short c = a;
            a = b;
            b = c;
        }
        if (atomicCAS(parent + a, a, b) == a) return;
    }
}
