// nvcc: -lineinfo
// Prefix of structs of mixed fields, with a struct as a kernel parameter.

struct Reading {
    short kind;
    unsigned char flags;
    double value;
    int count;
    float peak;
};

struct Rule {
    unsigned char ignored_flags;
    double scale;
    struct {
        short lowest, highest;
    } kinds;
    float floor[3];
};

// What a run of readings amounts to. Joining two of them is associative, not commutative: the later kind wins.
__device__ Reading join(const Reading& a, const Reading& b) {
    Reading r;
    r.kind = b.kind >= 0 ? b.kind : a.kind;
    r.flags = a.flags ^ b.flags;
    r.value = a.value + b.value;
    r.count = a.count + b.count;
    r.peak = fmaxf(a.peak, b.peak);
    return r;
}

extern "C" __global__ void prefix(const Reading* in, Reading* out, int n, Rule rule) {
    __shared__ Reading s[128];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    Reading mine = {-1, 0, 0.0, 0, rule.floor[blockIdx.x % 3]};
    if (i < n) {
        Reading r = in[i];
        if (!(r.flags & rule.ignored_flags) && r.kind >= rule.kinds.lowest && r.kind <= rule.kinds.highest) {
            mine = r;
            mine.value *= rule.scale;
        }
    }
    s[t] = mine;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        if (t >= d) mine = join(s[t - d], mine);
        __syncthreads();
        s[t] = mine;
        __syncthreads();
    }
    if (i < n) out[i] = mine;
}

// Array of structures to structure of arrays, with bit fields.
struct Packed {
    unsigned low : 5;
    int middle : 11;
    unsigned high : 16;
};

extern "C" __global__ void unpack(const Packed* in, unsigned* low, int* middle, unsigned short* high, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        Packed p = in[i];
        low[i] = p.low;
        middle[i] = p.middle;
        high[i] = p.high;
    }
}
