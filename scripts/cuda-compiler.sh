#!/usr/bin/env bash
# Installs the pinned CUDA compiler into .cuda/ at the root of the workspace, or into the directory given: see
# kernels-common/build/cuda-compiler.sh, which does it.
#
#   bash scripts/cuda-compiler.sh [DIRECTORY]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ $# -gt 0 ] || set -- "$root/.cuda"
exec bash "$root/kernels-common/build/cuda-compiler.sh" "$@"
