#!/usr/bin/env bash
# Compiles the program that times candle-core and cubek-reduce (examples/bench/peers/rust) for `bench --times`, with
# the pinned nvcc (scripts/cuda-compiler.sh): rust-peers, and beside it in include/ the headers that cubecl's kernels
# include when they are compiled, for machines that have no toolkit. It needs the driver and glibc, for candle cuBLAS
# and cuRAND, and for cubek NVRTC, all loaded when it runs.
#
#   bash scripts/rust-peers.sh [DIRECTORY]     by default target/peers
#   bash scripts/rust-peers.sh --test          its unit tests
#
# JOBS: how many compilers to run at once, by default 2.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
mkdir -p "$target/rust-peers"
target=$(cd "$target" && pwd)
work=$target/rust-peers
package=$root/examples/bench/peers/rust
toolkit=$root/.cuda/toolkit

bash "$root/scripts/cuda-compiler.sh"

# candle-core asks cudarc to link CUDA's libraries, which are not here and which `--help` should not need: it is built
# from a copy that asks to load them. That is the only change.
host=$(rustc -vV | sed -n 's/^host: //p')
metadata=(--locked --format-version 1 --filter-platform "$host" --manifest-path "$package/Cargo.toml")
manifest=$(cargo metadata "${metadata[@]}" | python3 -c '
import json, sys
print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "candle-core"))')
rm -rf "$work/candle-core" "$work/package"
mkdir -p "$work/candle-core" "$work/package" "$work/lib"
cp -Rp "$(dirname "$manifest")/src" "$work/candle-core/"
sed 's/"dynamic-linking"/"dynamic-loading"/' "$manifest" >"$work/candle-core/Cargo.toml"
if cmp -s "$manifest" "$work/candle-core/Cargo.toml"; then
    echo "rust-peers.sh: candle-core no longer links CUDA's libraries; build it as it is" >&2
    exit 1
fi
cp "$package/Cargo.lock" "$work/package/"
ln -s "$package/src" "$work/package/src"
cp "$package/Cargo.toml" "$work/package/"
printf '\n[patch.crates-io]\ncandle-core = { path = "../candle-core" }\n' >>"$work/package/Cargo.toml"
# Its kernels ask for the CUDA runtime: the static one.
ln -sf "$toolkit/lib/libcudart_static.a" "$work/lib/libcudart.a"

jobs=${JOBS:-2}
export PATH=$toolkit/bin:$PATH CUDA_HOME=$toolkit CUDA_PATH=$toolkit CUDA_ROOT=$toolkit
export CUDA_COMPUTE_CAP=90 CUDARC_CUDA_VERSION=13000 CUDAFORGE_THREADS=$jobs
export RUSTFLAGS="${RUSTFLAGS-} -L native=$work/lib"
cargo=(--release --offline --jobs "$jobs" --manifest-path "$work/package/Cargo.toml" --target-dir "$work")
if [ "${1-}" = --test ]; then
    exec cargo test "${cargo[@]}"
fi
cargo build "${cargo[@]}"

into=${1:-$target/peers}
mkdir -p "$into/include"
cp "$work/release/rust-peers" "$into/"
echo '#include <cuda_runtime.h>' >"$work/headers.cu"
nvcc -M "$work/headers.cu" | tr -s ' \\' '\n\n' | sed -n "s|.*/bin/\.\./*include/||p" | while read -r header; do
    mkdir -p "$into/include/$(dirname "$header")"
    cp "$toolkit/include/$header" "$into/include/$header"
done
echo "$into/rust-peers: $(du -k "$into/rust-peers" | cut -f1) KiB"
