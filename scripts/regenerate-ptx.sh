#!/usr/bin/env bash
# Compiles every kernel with the pinned nvcc (scripts/cuda-compiler.sh) and writes crates/*/ptx.
#
#   bash scripts/regenerate-ptx.sh           writes
#   bash scripts/regenerate-ptx.sh --check   writes too, but fails if anything differs from what was there
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
check=no
case ${1-} in
    '') ;;
    --check) check=yes ;;
    *)
        echo "usage: bash scripts/regenerate-ptx.sh [--check]" >&2
        exit 2
        ;;
esac

bash scripts/cuda-compiler.sh

before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
# Copies all PTX below crates/ into a directory.
copy_ptx() {
    (cd crates && find . -path '*/ptx/*.ptx' -type f) | sort | while read -r file; do
        mkdir -p "$1/$(dirname "$file")"
        cp "crates/$file" "$1/$file"
    done
}
mkdir "$before/committed" "$before/generated"
copy_ptx "$before/committed"

packages=()
for script in crates/*/build.rs; do
    if [ -e "$script" ]; then packages+=(--package "$(basename "$(dirname "$script")")"); fi
done
if [ ${#packages[@]} -eq 0 ]; then
    echo "regenerate-ptx.sh: no crate below crates/ has a build.rs" >&2
    exit 1
fi
# Any value but 0 means "write". A new one each time makes Cargo run every build script again. The
# compiler is the one in .cuda, whatever else there is.
env KERNELS_WRITE_PTX="$(date +%s.%N)" NVCC="$PWD/.cuda/toolkit/bin/nvcc" \
    cargo check --locked "${packages[@]}"

copy_ptx "$before/generated"

# `diff` answers 0 for no difference, 1 for some.
status=0
difference=$(cd "$before" && diff -ruN committed generated) || status=$?
if [ "$status" -eq 0 ]; then
    echo "PTX is up to date: $(find "$before/generated" -name '*.ptx' | wc -l) files."
    exit
fi
written=$(cd "$before" && { diff -rqN committed generated || true; } | sed 's/.* and generated\(.*\) differ$/    crates\1/')
if [ "$check" = no ]; then
    printf 'PTX written; commit it with the sources:\n%s\n' "$written"
    exit
fi
{
    printf '%s\n' "$difference" | head -n 60
    printf '\nregenerate-ptx.sh: this PTX was not what the pinned nvcc makes of the sources:\n%s\n' "$written"
    echo "The files have been written anew: look at them with git diff, and commit them."
} >&2
exit 1
