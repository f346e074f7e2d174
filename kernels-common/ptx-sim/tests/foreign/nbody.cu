// Gravity among n bodies: each block takes the bodies in tiles through shared memory.

extern "C" __global__ void accelerations(const float4* bodies, float3* result, int n, float softening) {
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float3 sum = make_float3(0, 0, 0);
    for (int start = 0; start < n; start += blockDim.x) {
        int j = start + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
        int count = min(blockDim.x, n - start);
        for (int k = 0; k < count; ++k) {
            float4 other = tile[k];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            float strength = other.w * inverse * inverse * inverse;
            sum.x += dx * strength;
            sum.y += dy * strength;
            sum.z += dz * strength;
        }
        __syncthreads();
    }
    if (i < n) result[i] = sum;
}

// Speed, a division of the fast kind and one that is rounded correctly.
extern "C" __global__ void speeds(const float3* velocity, const float* mass, float* speed, float* fast, float* exact,
                                  int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 v = velocity[i];
    float length = sqrtf(__fmul_rn(v.x, v.x) + __fadd_rn(__fmul_rn(v.y, v.y), __fmul_rn(v.z, v.z)));
    speed[i] = length;
    fast[i] = __fdividef(length, mass[i]);
    exact[i] = length / mass[i];
}
