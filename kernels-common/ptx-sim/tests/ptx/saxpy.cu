// A kernel that trusts its n, in a folder /src compiled by
//   nvcc -ptx -arch=compute_75 -lineinfo saxpy.cu -o saxpy.lineinfo.ptx
//   nvcc -ptx -arch=compute_75 -G saxpy.cu -o saxpy.debug.ptx
//   sed -i 's/^.version .*/.version 6.4/' saxpy.*.ptx     # so that any driver loads it
__device__ float scaled(float a, float x) {
    return a * x;
}

extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = scaled(a, x[i]) + y[i];
    }
}
