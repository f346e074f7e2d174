// What belongs to no single peer.

#include "peers.h"

#include <cub/version.cuh>
#include <string>

uint32_t rungs_peers_version() { return RUNGS_PEERS_VERSION; }

const char *rungs_peers_description() {
    const auto version = [](int major, int minor, int patch) {
        return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
    };
    static const std::string text =
        "CUB " + version(CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION) + ", nvcc " +
        version(__CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__);
    return text.c_str();
}

const char *rungs_error_text(int32_t error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

int32_t rungs_fetch(void *to, const void *from, size_t bytes, cudaStream_t stream) {
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream);
    return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}
