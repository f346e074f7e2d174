// What belongs to no single peer.

#include "peers.h"

#include <cub/version.cuh>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

uint32_t rungs_peers_version() { return RUNGS_PEERS_VERSION; }

const char *rungs_peers_description() {
    return "CUB " TEXT(CUB_MAJOR_VERSION) "." TEXT(CUB_MINOR_VERSION) "." TEXT(CUB_SUBMINOR_VERSION) ", nvcc " TEXT(
        __CUDACC_VER_MAJOR__) "." TEXT(__CUDACC_VER_MINOR__) "." TEXT(__CUDACC_VER_BUILD__);
}

const char *rungs_error_text(int32_t error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

int32_t rungs_fetch(void *to, const void *from, size_t bytes, cudaStream_t stream) {
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream);
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}
