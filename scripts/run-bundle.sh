#!/usr/bin/env bash
# Runs every test binary of a bundle made by scripts/bundle.sh; no Rust needed. Fails if one fails.
#
#   bash gpu-bundle/run-tests.sh [--list] [TEXT] [-- ARGUMENTS OF THE TEST BINARIES]
#
# TEXT: only the binaries whose name contains it, e.g. `dot`.
# WRAP: a command to run each binary under, e.g.
#   WRAP="compute-sanitizer --tool memcheck --error-exitcode 9" bash gpu-bundle/run-tests.sh vecadd
# KERNELS_DEVICE and the other variables of the tests are passed through.
#
# Each binary runs in the directory of its package when the bundle lies in a checkout, as under `cargo test`,
# and else in the bundle.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
list=no
filter=
while [ $# -gt 0 ]; do
    case $1 in
        --list) list=yes ;;
        --)
            shift
            break
            ;;
        -*)
            echo "usage: bash run-tests.sh [--list] [TEXT] [-- ARGUMENTS]" >&2
            exit 2
            ;;
        *) filter=$1 ;;
    esac
    shift
done

failed=()
count=0
start=$SECONDS
# Descriptor 3 keeps the list out of reach of the tests, which may read their standard input.
while IFS=$'\t' read -r name directory text <&3; do
    [[ "$name" == *"$filter"* ]] || continue
    count=$((count + 1))
    if [ "$list" = yes ]; then
        echo "$name ($text)"
        continue
    fi
    echo "=== $name ($text)"
    where=$here/../$directory
    [ -e "$where/Cargo.toml" ] || where=$here
    began=$SECONDS
    # WRAP is meant to be split into words.
    # shellcheck disable=SC2086
    (cd "$where" && CARGO_MANIFEST_DIR=$PWD exec ${WRAP-} "$here/tests/$name" "$@" </dev/null)
    status=$?
    if [ $status -ne 0 ]; then
        failed+=("$name (exit status $status)")
    fi
    echo "--- $name: status $status, $((SECONDS - began)) s"
done 3<"$here/tests.txt"

[ "$list" = no ] || exit 0
echo
if [ $count -eq 0 ]; then
    echo "No test binary has \`$filter\` in its name; --list shows them."
    exit 2
fi
echo "$count test binaries, ${#failed[@]} failed, $((SECONDS - start)) s"
if [ ${#failed[@]} -gt 0 ]; then
    printf '  failed: %s\n' "${failed[@]}"
    exit 1
fi
