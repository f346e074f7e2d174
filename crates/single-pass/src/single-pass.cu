// Reductions of one slice in one launch, in canonical order: real blocks walk the virtual ones, and the last block to
// finish combines their partials. What a block does, and what the last one does, are in canonical.cuh and partials.cuh.
#include "arithmetic.cuh"
#include "canonical.cuh"
#include "packet.cuh"
#include "partials.cuh"
#include "reduction.cuh"
#include "types.cuh"

template <class Op, class Loads, class T, class R>
__device__ inline void reduce(const T* x, u64 n, u32 log2_v, u32 blocks, sum_t<T>* partials, u32* counter, R* out) {
    reduce_virtual_blocks<Op>(Elements<T, Loads, Op>{x}, n, log2_v, blocks, partials, out);
    if (blocks > 1) {
        finish_in_last_block<Op>(partials, blocks, counter, out);
    }
}

// Two kernels for each operation, so that only the one that is needed has to be compiled when it is loaded: for slices
// that start at a multiple of 16 bytes, and for any. A third, for large slices, is in bulk.cu.
#define REDUCTION(kernel, Op, R)                                                                                       \
    REDUCTION_BY(kernel, 2, R, reduce<Op, Whole>)                                                                      \
    REDUCTION_BY(kernel##_misaligned, 2, R, reduce<Op, Shifted>)

REDUCTION(single_pass_sum, Plus, sum_t<T>)
REDUCTION(single_pass_product, Product, sum_t<T>)
REDUCTION(single_pass_minimum, Minimum<T>, T)
REDUCTION(single_pass_maximum, Maximum<T>, T)
