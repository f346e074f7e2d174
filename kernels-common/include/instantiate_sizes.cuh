// Kernels that only move elements need to know their size and nothing else: one entry for every size, named
// `<kernel>_<bytes>`.
//
//   INSTANTIATE_SIZES(copy, __launch_bounds__(256), (const T* x, T* z, u64 n), (x, z, n))
//
// defines copy_1, copy_2, copy_4, copy_8 and copy_16. T is an unsigned integer of that size; at 16 bytes it is uint4.
#pragma once

#include "instantiate.cuh"

namespace kernels_1 {
using T = u8;
}
namespace kernels_2 {
using T = u16;
}
namespace kernels_4 {
using T = u32;
}
namespace kernels_8 {
using T = u64;
}
namespace kernels_16 {
using T = uint4;
}

#define INSTANTIATE_SIZES(kernel, bounds, parameters, arguments)                                                       \
    INSTANTIATE_FOR(1, kernel, bounds, parameters, arguments)                                                          \
    INSTANTIATE_FOR(2, kernel, bounds, parameters, arguments)                                                          \
    INSTANTIATE_FOR(4, kernel, bounds, parameters, arguments)                                                          \
    INSTANTIATE_FOR(8, kernel, bounds, parameters, arguments)                                                          \
    INSTANTIATE_FOR(16, kernel, bounds, parameters, arguments)
