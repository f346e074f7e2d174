#!/usr/bin/env bash
# Runs tests under Miri, which finds undefined behaviour: wild and dangling pointers, broken borrows, uninitialised
# memory, data races. See docs/testing.md.
#
#   bash scripts/miri.sh                    the tests below
#   bash scripts/miri.sh -p ptx-sim --lib   others: the arguments are those of `cargo test`
#
# Needs `rustup toolchain install nightly --component miri --component rust-src`. Miri is much slower than the
# processor, so that only tests are listed that execute few instructions.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The tests read the environment and the clock, and create files.
export MIRIFLAGS="-Zmiri-disable-isolation ${MIRIFLAGS:-}"
# Without this the tests would look for a GPU, and Miri cannot load a driver.
export KERNELS_DEVICE=sim
export PROPTEST_CASES=${PROPTEST_CASES:-1}

# The dev profile leaves these out of the simulator, for speed.
checks=(--config profile.dev.package.ptx-sim.overflow-checks=true
    --config profile.dev.package.ptx-sim.debug-assertions=true)

if [ $# -gt 0 ]; then
    exec cargo +nightly miri test "${checks[@]}" "$@"
fi

# A package, one of its test programs, and the tests in it that are run: those whose names contain one of the others.
tests() {
    local package=$1 program=$2 began=$SECONDS
    shift 2
    # shellcheck disable=SC2086 # `--test name` is two words
    cargo +nightly miri test "${checks[@]}" --locked -p "$package" $program -- "$@"
    printf -- '--- %s %s: %d s\n' "$package" "$program" "$((SECONDS - began))"
}

tests ptx-sim "--lib" exec:: initialised::tests::becomes initialised::tests::copies initialised::tests::threads \
    memory::tests::round_trips memory::tests::fills memory::tests::names workers::tests::instructions races::clock \
    races::lines
tests ptx-sim "--test memory_faults" misaligned read_only unchecked_accesses local_memory
tests ptx-sim "--test control_flow" branch_tables
tests ptx-sim "--test threads" the_last_block
# What these forget leaks, as it must.
MIRIFLAGS="$MIRIFLAGS -Zmiri-ignore-leaks"
tests kernels-common "--test memory" nothing_is ranges sizes pinned_and_unified other_streams a_stream_of_another \
    handles_drop without_concurrent
tests kernels-common "--test soundness"
tests kernels-common "--test graph" a_closure_may resources_may a_failed_update memory_is_freed no_launch_while \
    without_concurrent a_buffer_of_a_graph order_of_drops the_host_sees_what_a_graph
