// One source for many types: the compiler makes a kernel of each.

typedef signed char i8;
typedef unsigned short u16;
typedef long long i64;

// z = a x + y in the type itself, so that it wraps; the largest of z within a block.
template <class T> __global__ void axpy_max(T a, const T* x, const T* y, T* z, T* largest, int n) {
    extern __shared__ __align__(8) unsigned char raw[];
    T* s = reinterpret_cast<T*>(raw);
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    T value = i < n ? T(a * x[i] + y[i]) : T(0);
    if (i < n) z[i] = value;
    s[t] = value;
    __syncthreads();
    for (int d = (blockDim.x + 1) / 2, size = blockDim.x; size > 1; size = d, d = (d + 1) / 2) {
        if (t + d < size && s[t + d] > s[t]) s[t] = s[t + d];
        __syncthreads();
    }
    if (t == 0) largest[blockIdx.x] = s[0];
}

template __global__ void axpy_max<i8>(i8, const i8*, const i8*, i8*, i8*, int);
template __global__ void axpy_max<u16>(u16, const u16*, const u16*, u16*, u16*, int);
template __global__ void axpy_max<i64>(i64, const i64*, const i64*, i64*, i64*, int);
template __global__ void axpy_max<float>(float, const float*, const float*, float*, float*, int);

// Reverses groups of N elements in vectors of several widths.
template <class V> __global__ void gather(const V* x, const int* index, V* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[index[i]];
}

template __global__ void gather<char2>(const char2*, const int*, char2*, int);
template __global__ void gather<short4>(const short4*, const int*, short4*, int);
template __global__ void gather<double2>(const double2*, const int*, double2*, int);
template __global__ void gather<longlong2>(const longlong2*, const int*, longlong2*, int);
template __global__ void gather<uchar3>(const uchar3*, const int*, uchar3*, int);

// Conversions between all pairs of a few types, in one go through a chain.
template <class A, class B> __device__ B convert(A a) { return static_cast<B>(a); }

extern "C" __global__ void conversions(const float* x, const double* y, const int* z, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float f = x[i];
    double d = y[i];
    int k = z[i];
    double* o = out + i;
    o[0 * n] = __float2int_rn(f);
    o[1 * n] = __float2int_rz(f);
    o[2 * n] = __float2int_ru(f);
    o[3 * n] = __float2int_rd(f);
    o[4 * n] = __float2uint_rn(f);
    o[5 * n] = (double)__float2ll_rd(f);
    o[6 * n] = __double2int_rn(d);
    o[7 * n] = (double)__double2ll_rz(d);
    o[8 * n] = __double2float_rn(d);
    o[9 * n] = __double2float_rz(d);
    o[10 * n] = __int2float_rn(k);
    o[11 * n] = __int2float_rz(k);
    o[12 * n] = __uint2float_ru(k);
    o[13 * n] = __ll2float_rn((i64)k * k * 3);
    o[14 * n] = __ll2double_rz((i64)k * k * 5);
    o[15 * n] = rintf(f) + floorf(f) * 2 + ceilf(f) * 4 + truncf(f) * 8;
    o[16 * n] = rint(d);
    o[17 * n] = roundf(f);
    o[18 * n] = (signed char)k + (double)(unsigned char)k + (unsigned short)k * 3.0;
    o[19 * n] = __hiloint2double(__double2loint(d) & 0xfffff, k & 0x3fffffff);
    o[20 * n] = __uint_as_float((unsigned)k & 0x7f7fffff);
    o[21 * n] = __saturatef(f);
    o[22 * n] = convert<double, unsigned char>(fabs(d) < 255 ? fabs(d) : 0) + convert<float, short>(f);
    o[23 * n] = copysign(d, f) + fmod((double)k, 10.0);
    o[24 * n] = isnan(f) + 2 * isinf(d) + 4 * signbit(f) + 8 * (f == 0);
    o[25 * n] = __fadd_ru(f, 1e-9f) + __fmul_rd(f, 1.1f) + __fdiv_rz(f, 3.0f);
    o[26 * n] = __dsqrt_ru(fabs(d)) + __drcp_rn(d);
    o[27 * n] = fmaf(f, f, -f) + fma(d, d, -d);
}
