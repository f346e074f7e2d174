// C = A B for row-major matrices of any shape, through square tiles in shared memory. Tiles that stick out are filled
// up with zeros.

template <class T, int TILE>
__device__ void multiply(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m, int n, int k) {
    __shared__ T sa[TILE][TILE], sb[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    T sum = 0;
    for (int start = 0; start < k; start += TILE) {
        int ka = start + threadIdx.x, kb = start + threadIdx.y;
        sa[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : T(0);
        sb[threadIdx.y][threadIdx.x] = column < n && kb < k ? b[kb * n + column] : T(0);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i) sum += sa[threadIdx.y][i] * sb[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

extern "C" __global__ void __launch_bounds__(256) matmul_float(const float* a, const float* b, float* c, int m, int n,
                                                               int k) {
    multiply<float, 16>(a, b, c, m, n, k);
}

extern "C" __global__ void matmul_double(const double* a, const double* b, double* c, int m, int n, int k) {
    multiply<double, 8>(a, b, c, m, n, k);
}

// Each thread computes 4 x 4 results in registers from 16-byte loads of shared memory. Sizes are multiples of 32.
extern "C" __global__ void matmul_registers(const float4* a, const float4* b, float4* c, int n4, int k4) {
    __shared__ float4 sa[32][8], sb[32][8];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * 8 + tx;
    float sum[4][4] = {};
    for (int start = 0; start < k4; start += 8) {
        for (int i = t; i < 256; i += 64) {
            sa[i / 8][i % 8] = a[(blockIdx.y * 32 + i / 8) * k4 + start + i % 8];
            sb[i / 8][i % 8] = b[(start * 4 + i / 8) * n4 + blockIdx.x * 8 + i % 8];
        }
        __syncthreads();
        for (int i = 0; i < 32; ++i) {
            float4 right = sb[i][tx];
#pragma unroll
            for (int r = 0; r < 4; ++r) {
                float left = reinterpret_cast<const float*>(sa[ty * 4 + r])[i];
                sum[r][0] += left * right.x;
                sum[r][1] += left * right.y;
                sum[r][2] += left * right.z;
                sum[r][3] += left * right.w;
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 4; ++r)
        c[(blockIdx.y * 32 + ty * 4 + r) * n4 + blockIdx.x * 8 + tx] =
            make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
}
