// The reductions of single-pass.cu, to the same bits, for large slices that start at a multiple of 16 bytes: by bulk
// copies through shared memory, which devices of compute capability 9.0 and later have. One block takes all the shared
// memory of a multiprocessor.
#include "arithmetic.cuh"
#include "canonical_bulk.cuh"
#include "packet.cuh"
#include "partials.cuh"
#include "reduction.cuh"
#include "types.cuh"

template <class Op, class T, class R>
__device__ inline void reduce_in_bulk(const T* x, u64 n, u32 log2_v, u32 blocks, sum_t<T>* partials, u32* counter,
                                      R* out) {
    reduce_virtual_blocks_in_bulk<Op>(Elements<T, Whole, Op>{x}, n, log2_v, blocks, partials, out);
    if (blocks > 1) {
        finish_many_in_last_block<Op>(partials, blocks, counter, out);
    }
}

REDUCTION_BY(single_pass_sum_bulk, 1, sum_t<T>, reduce_in_bulk<Plus>)
REDUCTION_BY(single_pass_product_bulk, 1, sum_t<T>, reduce_in_bulk<Product>)
REDUCTION_BY(single_pass_minimum_bulk, 1, T, reduce_in_bulk<Minimum<T>>)
REDUCTION_BY(single_pass_maximum_bulk, 1, T, reduce_in_bulk<Maximum<T>>)
