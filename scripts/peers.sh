#!/usr/bin/env bash
# Compiles what `bench` compares the kernels with (examples/bench/peers/*.cu: CUB, and kernels that only read) to
# librungs_peers.so, with the pinned nvcc (scripts/cuda-compiler.sh). `bench` finds it in target/peers, and beside
# itself in a bundle. The library holds the runtimes of CUDA and C++, and needs the driver and glibc.
#
#   bash scripts/peers.sh [DIRECTORY]     by default target/peers
#
# JOBS: how many compilers to run at once, by default 2.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
into=${1:-${CARGO_TARGET_DIR:-$root/target}/peers}
sources=$root/examples/bench/peers
toolkit=$root/.cuda/toolkit

bash "$root/scripts/cuda-compiler.sh"
mkdir -p "$into"
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

# Machine code for Hopper, whose bulk copies need it, and PTX for everything else from Turing on.
flags=(-O3 -std=c++17 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75
    -Xcompiler -fPIC,-fvisibility=hidden)
export toolkit objects
# shellcheck disable=SC2016 # for the shell that xargs starts
find "$sources" -name '*.cu' -print0 | sort -z | xargs -0 -P "${JOBS:-2}" -I SOURCE bash -c '
    "$toolkit/bin/nvcc" "${@:2}" -c "$1" -o "$objects/$(basename "$1" .cu).o"' compile SOURCE "${flags[@]}"
"$toolkit/bin/nvcc" -shared -cudart static -Xcompiler -static-libstdc++,-static-libgcc -L "$toolkit/lib" \
    -Xlinker --exclude-libs,ALL "$objects"/*.o \
    -o "$into/librungs_peers.so"
echo "$into/librungs_peers.so: $(du -k "$into/librungs_peers.so" | cut -f1) KiB"
