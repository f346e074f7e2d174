// The interface between `bench` and librungs_peers.so, in plain C: what other libraries compute, on a stream and in
// memory of the caller's. `src/compare/peers/library.rs` declares the same in Rust; the version goes up with every
// change.
//
// Functions that return an int32_t return a cudaError_t. They work in the context that is current on the thread. None
// waits for the device, and none touches the host's memory, but for `rungs_fetch`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>

#define RUNGS_PEERS_VERSION 1

#define RUNGS_API extern "C" __attribute__((visibility("default")))

// Element types. Sums of halves are in f32, those of i32 in i64.
enum RungsType : int32_t { RUNGS_F32, RUNGS_F64, RUNGS_F16, RUNGS_BF16, RUNGS_I32, RUNGS_I64 };

enum RungsReduction : int32_t { RUNGS_SUM, RUNGS_MINIMUM, RUNGS_MAXIMUM };

// Ways to read memory, see read.cu.
enum RungsReading : int32_t { RUNGS_READ_LOADS, RUNGS_READ_BULK };

RUNGS_API uint32_t rungs_peers_version();

// Which libraries, in which versions; valid for ever.
RUNGS_API const char *rungs_peers_description();

// What an error means; valid for ever.
RUNGS_API const char *rungs_error_text(int32_t error);

// cub::DeviceReduce with a 64-bit count. Without a workspace it only sets `bytes` to the size that it needs.
RUNGS_API int32_t rungs_reduce(int32_t reduction, int32_t type, const void *x, void *out, uint64_t n, void *workspace,
                               size_t *bytes, cudaStream_t stream);

// cub::DeviceTransform: z = x + y, halves rounded once.
RUNGS_API int32_t rungs_add(int32_t type, const void *x, const void *y, void *z, uint64_t n, cudaStream_t stream);

// Makes a way to read ready in the current context, or says that its device has none; comes before the first
// `rungs_read`.
RUNGS_API int32_t rungs_read_prepare(int32_t reading);

// Adds the 32-bit words of x, and of y unless that is null, to *out, modulo 2^32, in any order. Reads whole packets of
// 16 bytes, at addresses that are multiples of 16.
RUNGS_API int32_t rungs_read(int32_t reading, const void *x, const void *y, uint64_t bytes, uint32_t *out,
                             cudaStream_t stream);

// Copies to the host and waits for the stream.
RUNGS_API int32_t rungs_fetch(void *to, const void *from, size_t bytes, cudaStream_t stream);
