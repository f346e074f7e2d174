#!/usr/bin/env bash
# Installs the pinned CUDA compiler (cuda-compiler.txt, beside this script) from the Python Package Index into the
# directory given. Needs python3, no root and no GPU. Does nothing when it is installed already.
#
#   bash cuda-compiler.sh DIRECTORY
#
# Build scripts find the compiler in a directory `.cuda` of a crate, of a directory above it, or of this workspace.
set -euo pipefail

fail() {
    printf 'cuda-compiler.sh: %s\n' "$@" >&2
    exit 1
}

if [ $# -ne 1 ] || [ -z "$1" ] || [[ "$1" == -* ]]; then
    fail "usage: bash cuda-compiler.sh DIRECTORY"
fi
pins=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/cuda-compiler.txt
into=$1
[[ "$into" == /* ]] || into=$PWD/$into
nvcc=$into/toolkit/bin/nvcc
# A copy of the list, written last: a directory without it is not complete.
done=$into/installed.txt

report() {
    version=$("$nvcc" --version | sed -n 's/.*, V\([0-9.]*\)$/\1/p')
    echo "nvcc $version: $nvcc"
}

if cmp -s "$pins" "$done" && "$nvcc" --version >/dev/null 2>&1; then
    report
    exit
fi

command -v python3 >/dev/null ||
    fail "python3 is not on the PATH. Install Python 3 (Debian, Ubuntu: apt install python3 python3-venv)."
if [ -e "$into" ]; then
    # Only what an earlier run left, complete or not, is replaced.
    [ -e "$done" ] || [ -e "$into/incomplete" ] || [ -z "$(ls -A "$into")" ] ||
        fail "$into exists and is not an installation of this script. Name another directory, or remove it."
    rm -rf "$into"
fi
mkdir -p "$into"
touch "$into/incomplete"
# The directory may lie in somebody's repository.
echo '*' >"$into/.gitignore"

echo "Installing the CUDA compiler into $into ..."
# --no-deps: the list is complete, and nothing but the list is wanted.
options=(install --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: --requirement "$pins")
if python3 -m venv "$into/python" >"$into/venv.log" 2>&1; then
    pip=("$into/python/bin/python3" -m pip)
elif python3 -m pip --version >/dev/null 2>&1; then
    # Distributions split venv off; pip alone will do.
    pip=(python3 -m pip)
    options+=(--target "$into/packages")
else
    fail "this Python has neither venv nor pip: $(tail -n 1 "$into/venv.log")" \
        "Install them (Debian, Ubuntu: apt install python3-venv)."
fi
"${pip[@]}" "${options[@]}" ||
    fail "pip failed (see above). The compiler is published for Linux and Windows; pip needs to reach the" \
        "Python Package Index or the mirror that PIP_INDEX_URL names. A toolkit that is installed already serves" \
        "too: set CUDA_HOME or NVCC. Only for committing PTX it has to be the pinned version."

found=
for candidate in "$into"/python/lib/python3*/site-packages/nvidia/*/bin/nvcc "$into"/packages/nvidia/*/bin/nvcc; do
    if [ -x "$candidate" ]; then found=$candidate; fi
done
[ -n "$found" ] || fail "pip reported success, but there is no nvcc below $into. Remove that directory and try again."
# One stable path, whatever the version of Python.
toolkit=${found%/bin/nvcc}
ln -sfn "${toolkit#"$into/"}" "$into/toolkit"
"$nvcc" --version >/dev/null || fail "$nvcc does not run on this machine ($(uname -sm))."
cp "$pins" "$done"
rm -f "$into/incomplete" "$into/venv.log"
report
