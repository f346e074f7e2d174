// z[i] = a x[i] + y[i] for vectors of n elements, one element a thread.
#include "arithmetic.cuh"
#include "convert.cuh"
#include "grid.cuh"
#include "instantiate.cuh"

template <class T>
__device__ inline void saxpy(T a, const T* x, const T* y, T* z, u64 n) {
    u64 i = thread_1d();
    if (i < n) {
        z[i] = narrow<T>(fused_add(widen(y[i]), widen(a), widen(x[i])));
    }
}

INSTANTIATE(saxpy, __launch_bounds__(256), (T a, const T* x, const T* y, T* z, u64 n), (a, x, y, z, n))
