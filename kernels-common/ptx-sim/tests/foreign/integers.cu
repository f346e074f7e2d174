// Integer arithmetic of all kinds; every result goes out by itself.

typedef long long i64;
typedef unsigned long long u64;

extern "C" __global__ void words(const unsigned* x, const unsigned* y, const unsigned* z, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = y[i], c = z[i], *o = out + i;
    int sa = a, sb = b, sc = c;
    o[0 * n] = __mulhi(sa, sb);
    o[1 * n] = __umulhi(a, b);
    o[2 * n] = __mul24(sa, sb);
    o[3 * n] = __umul24(a, b);
    o[4 * n] = __clz(sa);
    o[5 * n] = __brev(a);
    o[6 * n] = __ffs(sa);
    o[7 * n] = __popc(a);
    o[8 * n] = __funnelshift_l(a, b, c);
    o[9 * n] = __funnelshift_r(a, b, c);
    o[10 * n] = __funnelshift_lc(a, b, c);
    o[11 * n] = __funnelshift_rc(a, b, c);
    o[12 * n] = __byte_perm(a, b, c);
    o[13 * n] = __sad(sa, sb, c);
    o[14 * n] = __usad(a, b, c);
    o[15 * n] = __hadd(sa, sb);
    o[16 * n] = __rhadd(sa, sb);
    o[17 * n] = __uhadd(a, b);
    o[18 * n] = __dp4a(sa, sb, sc);
    o[19 * n] = __dp4a(a, b, c);
    o[20 * n] = __dp2a_lo(sa, sb, sc);
    o[21 * n] = __dp2a_hi(a, b, c);
    o[22 * n] = b ? a / b : a;
    o[23 * n] = b ? a % b : b;
    o[24 * n] = sb && !(sb == -1 && sa == (int)0x80000000) ? sa / sb : sa;
    o[25 * n] = sb && !(sb == -1 && sa == (int)0x80000000) ? sa % sb : sb;
    o[26 * n] = sa >> (c & 31);
    o[27 * n] = a << (c & 31) | b >> (c & 31);
    o[28 * n] = abs(sa) + min(sa, sb) - max(a, b);
    o[29 * n] = sa / 7 + a % 1000;
    o[30 * n] = (signed char)a * (short)b;
    o[31 * n] = (a & b) | (~a & c);
}

extern "C" __global__ void long_words(const u64* x, const u64* y, u64* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u64 a = x[i], b = y[i], *o = out + i;
    i64 sa = a, sb = b;
    bool overflows = sb == -1 && a == 1ull << 63;
    o[0 * n] = b ? a / b : a;
    o[1 * n] = b ? a % b : b;
    o[2 * n] = b && !overflows ? sa / sb : sa;
    o[3 * n] = b && !overflows ? sa % sb : sb;
    o[4 * n] = __umul64hi(a, b);
    o[5 * n] = __mul64hi(sa, sb);
    o[6 * n] = __clzll(sa);
    o[7 * n] = __brevll(a);
    o[8 * n] = __ffsll(sa);
    o[9 * n] = __popcll(a);
    o[10 * n] = a * b + (a >> 7);
    o[11 * n] = sa >> (b & 63);
    o[12 * n] = a << (b & 63);
    o[13 * n] = llabs(sa) + llmin(sa, sb);
    o[14 * n] = ullmax(a, b) ^ (u64)llmax(sa, sb);
    o[15 * n] = a / 10 + a % 86400;
    o[16 * n] = (u64)(unsigned)a * (unsigned)b;
    o[17 * n] = (i64)(int)a * (int)b + sa;
    unsigned __int128 wide = (unsigned __int128)a * b + a;
    o[18 * n] = (u64)(wide >> 64);
    o[19 * n] = (u64)(wide - ((unsigned __int128)b << 33)) ^ (u64)((wide - ((unsigned __int128)b << 33)) >> 64);
}

// Montgomery multiplication of numbers of 256 bits, limbs of 32 bits, carries by hand.
extern "C" __global__ void multiply_big(const unsigned* x, const unsigned* y, unsigned* product, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned limbs[16] = {};
#pragma unroll
    for (int a = 0; a < 8; ++a) {
        u64 carry = 0;
#pragma unroll
        for (int b = 0; b < 8; ++b) {
            carry += (u64)x[i * 8 + a] * y[i * 8 + b] + limbs[a + b];
            limbs[a + b] = carry;
            carry >>= 32;
        }
        limbs[a + 8] = carry;
    }
#pragma unroll
    for (int k = 0; k < 16; ++k) product[i * 16 + k] = limbs[k];
}

// Sums of 256 bits with the carry flag, as only assembler can say it.
extern "C" __global__ void add_big(const uint4* x, const uint4* y, uint4* sum, uint4* difference, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 a = x[i], b = y[i], s, d;
    asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
        : "=r"(s.x), "=r"(s.y), "=r"(s.z), "=r"(s.w)
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "r"(b.z), "r"(b.w));
    asm("sub.cc.u32 %0, %4, %8;\n\tsubc.cc.u32 %1, %5, %9;\n\tsubc.cc.u32 %2, %6, %10;\n\tsubc.u32 %3, %7, %11;"
        : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w)
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y), "r"(b.z), "r"(b.w));
    sum[i] = s;
    difference[i] = d;
}

// Bytes and half words of a word side by side.
extern "C" __global__ void simd(const unsigned* x, const unsigned* y, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned a = x[i], b = y[i], *o = out + i;
    o[0 * n] = __vadd4(a, b);
    o[1 * n] = __vaddus4(a, b);
    o[2 * n] = __vaddss4(a, b);
    o[3 * n] = __vabsdiffu4(a, b);
    o[4 * n] = __vcmpgtu4(a, b);
    o[5 * n] = __vmaxs2(a, b);
    o[6 * n] = __vsubus2(a, b);
    o[7 * n] = __vavgu4(a, b);
    o[8 * n] = __vsadu4(a, b);
    o[9 * n] = __vseteq2(a, b);
}
