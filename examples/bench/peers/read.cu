// The ceiling of a reduction: reading its input once, with as little else as can be checked. There is no order to keep,
// no partial result and no second launch; each block adds what it has read to one word.

#include "peers.h"

#include <algorithm>

namespace {

__device__ uint32_t words(uint4 packet) { return packet.x + packet.y + packet.z + packet.w; }

// Adds up `value` over the block, and adds that to *out.
__device__ void add_block(uint32_t value, uint32_t *out) {
    __shared__ uint32_t total;
    if (threadIdx.x == 0) {
        total = 0;
    }
    __syncthreads();
    for (int distance = 16; distance > 0; distance /= 2) {
        value += __shfl_down_sync(0xffffffff, value, distance);
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&total, value);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(out, total);
    }
}

// Plain loads of 16 bytes, `Unroll` of each stream in flight for each thread.
namespace loads {

constexpr int THREADS = 512;

template <int Streams, int Unroll>
__global__ void __launch_bounds__(THREADS)
    kernel(const uint4 *__restrict__ x, const uint4 *__restrict__ y, uint64_t packets, uint32_t *out) {
    const uint64_t stride = static_cast<uint64_t>(gridDim.x) * THREADS;
    uint64_t i = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x;
    uint32_t sum = 0;
    for (; packets > (Unroll - 1) * stride && i < packets - (Unroll - 1) * stride; i += Unroll * stride) {
        uint4 from_x[Unroll], from_y[Unroll];
#pragma unroll
        for (int k = 0; k < Unroll; ++k) {
            from_x[k] = x[i + k * stride];
            if constexpr (Streams == 2) {
                from_y[k] = y[i + k * stride];
            }
        }
#pragma unroll
        for (int k = 0; k < Unroll; ++k) {
            sum += words(from_x[k]);
            if constexpr (Streams == 2) {
                sum += words(from_y[k]);
            }
        }
    }
    for (; i < packets; i += stride) {
        sum += words(x[i]);
        if constexpr (Streams == 2) {
            sum += words(y[i]);
        }
    }
    add_block(sum, out);
}

void launch(const uint4 *x, const uint4 *y, uint64_t packets, uint32_t *out, int multiprocessors, cudaStream_t stream) {
    const uint64_t enough = (packets + THREADS - 1) / THREADS;
    // A few blocks a multiprocessor stream best; many more of them cost a tenth of the bandwidth.
    const unsigned grid = static_cast<unsigned>(std::min<uint64_t>(enough, (y ? 8 : 4) * multiprocessors));
    if (y) {
        kernel<2, 2><<<grid, THREADS, 0, stream>>>(x, y, packets, out);
    } else {
        kernel<1, 4><<<grid, THREADS, 0, stream>>>(x, y, packets, out);
    }
}

} // namespace loads

// Bulk copies to shared memory (`cp.async.bulk`, from compute capability 9.0 on), several of them in flight for the one
// block of each multiprocessor, whose threads read what has arrived.
namespace bulk {

constexpr int THREADS = 512;
constexpr uint32_t CHUNK = 32 << 10;
constexpr int STAGES = 6;
constexpr uint32_t SHARED = STAGES * CHUNK;

// One stream uses all stages on its own; of two, each has half of them.
template <int Streams>
__global__ void __launch_bounds__(THREADS)
    kernel(const char *x, const char *y, uint64_t bytes, uint32_t *out) {
#if __CUDA_ARCH__ >= 900
    constexpr int DEPTH = STAGES / Streams;
    auto shared_address = [](const void *pointer) { return static_cast<uint32_t>(__cvta_generic_to_shared(pointer)); };
    extern __shared__ __align__(128) char buffer[];
    __shared__ uint64_t arrived[DEPTH];
    const uint64_t chunks = (bytes + CHUNK - 1) / CHUNK;

    // Starts the copies of a chunk of each stream into a stage. One thread calls it.
    auto start = [&](uint64_t chunk, int stage) {
        const uint32_t size = static_cast<uint32_t>(min(static_cast<uint64_t>(CHUNK), bytes - chunk * CHUNK));
        const uint32_t barrier = shared_address(&arrived[stage]);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(Streams * size)
                     : "memory");
#pragma unroll
        for (int which = 0; which < Streams; ++which) {
            const char *from = (which == 0 ? x : y) + chunk * CHUNK;
            const uint32_t to = shared_address(buffer + (stage * Streams + which) * CHUNK);
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
                             "r"(to),
                         "l"(__cvta_generic_to_global(from)), "r"(size), "r"(barrier)
                         : "memory");
        }
    };

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < DEPTH; ++stage) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&arrived[stage])) : "memory");
        }
        // The copies are another proxy, to which the barriers must be visible.
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < DEPTH; ++stage) {
            const uint64_t chunk = blockIdx.x + static_cast<uint64_t>(stage) * gridDim.x;
            if (chunk < chunks) {
                start(chunk, stage);
            }
        }
    }

    uint32_t sum = 0;
    int stage = 0;
    uint32_t parity = 0;
    for (uint64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
        const uint32_t size = static_cast<uint32_t>(min(static_cast<uint64_t>(CHUNK), bytes - chunk * CHUNK));
        uint32_t done = 0;
        while (!done) {
            asm volatile("{\n"
                         ".reg .pred complete;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, complete;\n"
                         "}"
                         : "=r"(done)
                         : "r"(shared_address(&arrived[stage])), "r"(parity)
                         : "memory");
        }
#pragma unroll
        for (int which = 0; which < Streams; ++which) {
            const uint4 *packets = reinterpret_cast<const uint4 *>(buffer + (stage * Streams + which) * CHUNK);
#pragma unroll
            for (uint32_t k = 0; k < CHUNK / 16 / THREADS; ++k) {
                const uint32_t i = k * THREADS + threadIdx.x;
                if (i < size / 16) {
                    sum += words(packets[i]);
                }
            }
        }
        // All have read the stage before it is written again.
        __syncthreads();
        const uint64_t next = chunk + static_cast<uint64_t>(DEPTH) * gridDim.x;
        if (threadIdx.x == 0 && next < chunks) {
            start(next, stage);
        }
        if (++stage == DEPTH) {
            stage = 0;
            parity ^= 1;
        }
    }
    add_block(sum, out);
#endif
}

cudaError_t prepare(int major) {
    if (major < 9) {
        return cudaErrorNotSupported;
    }
    const cudaFuncAttribute attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
    const cudaError_t one = cudaFuncSetAttribute(kernel<1>, attribute, SHARED);
    return one == cudaSuccess ? cudaFuncSetAttribute(kernel<2>, attribute, SHARED) : one;
}

void launch(const void *x, const void *y, uint64_t bytes, uint32_t *out, int multiprocessors, cudaStream_t stream) {
    const uint64_t chunks = (bytes + CHUNK - 1) / CHUNK;
    const unsigned grid = static_cast<unsigned>(std::min<uint64_t>(chunks, multiprocessors));
    const char *from_x = static_cast<const char *>(x), *from_y = static_cast<const char *>(y);
    if (y) {
        kernel<2><<<grid, THREADS, SHARED, stream>>>(from_x, from_y, bytes, out);
    } else {
        kernel<1><<<grid, THREADS, SHARED, stream>>>(from_x, from_y, bytes, out);
    }
}

} // namespace bulk

cudaError_t attribute(cudaDeviceAttr which, int &value) {
    int device = 0;
    const cudaError_t error = cudaGetDevice(&device);
    return error == cudaSuccess ? cudaDeviceGetAttribute(&value, which, device) : error;
}

} // namespace

int32_t rungs_read_prepare(int32_t reading) {
    int major = 0;
    const cudaError_t error = attribute(cudaDevAttrComputeCapabilityMajor, major);
    if (error != cudaSuccess) {
        return error;
    }
    switch (reading) {
    case RUNGS_READ_LOADS:
        return cudaSuccess;
    case RUNGS_READ_BULK:
        return bulk::prepare(major);
    default:
        return cudaErrorInvalidValue;
    }
}

int32_t rungs_read(int32_t reading, const void *x, const void *y, uint64_t bytes, uint32_t *out, cudaStream_t stream) {
    const uint64_t packets = bytes / 16;
    if (packets == 0) {
        return cudaSuccess;
    }
    int multiprocessors = 0;
    const cudaError_t error = attribute(cudaDevAttrMultiProcessorCount, multiprocessors);
    if (error != cudaSuccess) {
        return error;
    }
    switch (reading) {
    case RUNGS_READ_LOADS:
        loads::launch(static_cast<const uint4 *>(x), static_cast<const uint4 *>(y), packets, out, multiprocessors,
                      stream);
        break;
    case RUNGS_READ_BULK:
        bulk::launch(x, y, packets * 16, out, multiprocessors, stream);
        break;
    default:
        return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}
