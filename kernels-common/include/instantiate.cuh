// One line per kernel template makes an entry for every type, named `<kernel>_<type>`, without C++ name mangling.
//
//   INSTANTIATE(scale, __launch_bounds__(256), (const T* x, T* z, u64 n), (x, z, n))
//
// defines scale_f32, scale_f64, ... each with these parameters, each calling scale<T>(x, z, n).
#pragma once

#include "types.cuh"

// A namespace per type gives T its meaning in the parameter list.
namespace kernels_f32 {
using T = f32;
}
namespace kernels_f64 {
using T = f64;
}
namespace kernels_f16 {
using T = f16;
}
namespace kernels_bf16 {
using T = bf16;
}
namespace kernels_i32 {
using T = i32;
}
namespace kernels_u32 {
using T = u32;
}
namespace kernels_i64 {
using T = i64;
}
namespace kernels_u64 {
using T = u64;
}

#define INSTANTIATE_FOR(type, kernel, bounds, parameters, arguments)                                                   \
    namespace kernels_##type {                                                                                         \
    extern "C" __global__ void bounds kernel##_##type parameters { kernel<T> arguments; }                              \
    }

// For the types that sums live in.
#define INSTANTIATE_SUMS(kernel, bounds, parameters, arguments)                                                        \
    INSTANTIATE_FOR(f32, kernel, bounds, parameters, arguments)                                                        \
    INSTANTIATE_FOR(f64, kernel, bounds, parameters, arguments)                                                        \
    INSTANTIATE_FOR(i64, kernel, bounds, parameters, arguments)                                                        \
    INSTANTIATE_FOR(u64, kernel, bounds, parameters, arguments)

// For every element type.
#define INSTANTIATE(kernel, bounds, parameters, arguments)                                                             \
    INSTANTIATE_SUMS(kernel, bounds, parameters, arguments)                                                            \
    INSTANTIATE_FOR(f16, kernel, bounds, parameters, arguments)                                                        \
    INSTANTIATE_FOR(bf16, kernel, bounds, parameters, arguments)                                                       \
    INSTANTIATE_FOR(i32, kernel, bounds, parameters, arguments)                                                        \
    INSTANTIATE_FOR(u32, kernel, bounds, parameters, arguments)
