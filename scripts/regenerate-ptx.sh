#!/usr/bin/env bash
# Compiles every kernel with the pinned nvcc (scripts/cuda-compiler.sh) and writes the PTX: that of crates/*, of the
# crate in the book (kernels-common/build/tests/saxpy), and of the simulator's tests
# (kernels-common/ptx-sim/tests/foreign, tests/programs, tests/broken and tests/profile).
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
foreign=kernels-common/ptx-sim/tests/foreign
accesses=kernels-common/ptx-sim/tests/profile/accesses
programs=kernels-common/ptx-sim/tests/programs
broken=kernels-common/ptx-sim/tests/broken
book=kernels-common/build/tests/saxpy
# Copies all PTX that this script makes into a directory.
copy_ptx() {
    local ours=(-path '*/ptx/*.ptx' -o -path "$foreign/*.ptx" -o -path "$programs/*.ptx" -o -path "$broken/*.ptx"
        -o -path "$accesses*.ptx")
    local folders=(crates "$book" "$foreign" "$programs" "$broken" "$(dirname "$accesses")")
    find "${folders[@]}" \( "${ours[@]}" \) -type f | sort | while read -r file; do
        mkdir -p "$1/$(dirname "$file")"
        cp "$file" "$1/$file"
    done
}
mkdir "$before/committed" "$before/generated"
copy_ptx "$before/committed"

packages=()
for script in crates/*/build.rs "$book/build.rs"; do
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

# Compiles $1 for compute capability $2 with the flags that follow. Names of files lose their folders, and names of
# internal symbols, also where debug sections spell them in bytes, the hash of the folder: those are not the same
# everywhere.
compile() {
    local source=$1 arch=$2 ptx=${1%.cu}.sm_$2.ptx
    .cuda/toolkit/bin/nvcc -ptx -O3 "-arch=compute_$arch" "${@:3}" "$source" -o "$ptx"
    sed -i -E -e '/^[[:space:]]*\.file/s|"/[^"]*/([^"/]*)"|"\1"|' \
        -e 's/(_INTERNAL_|_GLOBAL__N__)[0-9a-f]{8}_/\100000000_/g' \
        -e 's/(95,73,78,84,69,82,78,65,76,95)(,[0-9]+){8}/\1,48,48,48,48,48,48,48,48/g' "$ptx"
}
rm -f "$foreign"/*.ptx "$programs"/*.ptx "$broken"/*.ptx
# Each for two compute capabilities, programs for a third one, with the flags of nvcc's own that the line `// nvcc:`
# names.
for source in "$foreign"/*.cu "$programs"/*.cu; do
    archs=(75 80)
    if [ "$(dirname "$source")" = "$programs" ]; then archs+=(90); fi
    read -ra flags <<<"$(sed -n 's|^// nvcc: ||p' "$source")"
    for arch in "${archs[@]}"; do compile "$source" "$arch" "${flags[@]}"; done
done
# Each with line information, for 7.5 or the compute capability that the line `// arch:` names.
for source in "$broken"/*.cu; do
    arch=$(sed -n 's|^// arch: ||p' "$source")
    compile "$source" "${arch:-75}" -lineinfo
done

# For the least compute capability only: the driver makes the machine code that is profiled from that.
.cuda/toolkit/bin/nvcc -ptx -O3 -arch=compute_75 "$accesses.cu" -o "$accesses.sm_75.ptx"

copy_ptx "$before/generated"

# `diff` answers 0 for no difference, 1 for some.
status=0
difference=$(cd "$before" && diff -ruN committed generated) || status=$?
if [ "$status" -eq 0 ]; then
    echo "PTX is up to date: $(find "$before/generated" -name '*.ptx' | wc -l) files."
    exit
fi
written=$(cd "$before" && { diff -rqN committed generated || true; } | sed 's|.* and generated/\(.*\) differ$|    \1|')
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
