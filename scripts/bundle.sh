#!/usr/bin/env bash
# Gathers the release test binaries, examples and programs of the workspace into gpu-bundle/, to run them on a machine
# that has a GPU and no Rust:
#
#   bash scripts/bundle.sh            here
#   bash gpu-bundle/run-tests.sh      there (see its head for options)
#
# What scripts/peers.sh and scripts/rust-peers.sh have built goes along, for `bench` to compare with.
#
# Left out: kernels-build, ptx-sim and ptx-sim-cli, which have nothing to do with a GPU, test targets named
# compile_fail*, which call Cargo, and faults_page, which reads the sources.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bundle=gpu-bundle

messages=$(mktemp)
trap 'rm -f "$messages"' EXIT
echo "Building tests and programs ..."
# One command for all, so that each crate is compiled with one set of features.
cargo build --workspace --exclude kernels-build --exclude ptx-sim --exclude ptx-sim-cli --release --tests --examples --bins \
    --message-format=json-render-diagnostics >"$messages"

rm -rf "$bundle"
mkdir -p "$bundle/tests" "$bundle/examples"
python3 - "$messages" "$bundle" <<'PYTHON'
"""Copies the executables that Cargo named, and lists the tests: file, package directory, what it tests."""
import json, os, shutil, sys

messages, bundle = sys.argv[1:]
root, tests = os.getcwd(), {}
for line in open(messages, encoding="utf-8"):
    message = json.loads(line)
    if message.get("reason") != "compiler-artifact" or not message.get("executable"):
        continue
    target, kind = message["target"], message["target"]["kind"][0]
    directory = os.path.relpath(os.path.dirname(message["manifest_path"]), root)
    package = "-".join(part for part in directory.split("/") if part != "crates")
    if message["profile"]["test"]:
        if target["name"].startswith(("compile_fail", "faults_page")):
            continue
        name = {"lib": f"{package}-unit", "test": f"{package}-{target['name']}"}.get(kind)
        name = name or f"{package}-{kind}-{target['name']}"
        tests[name] = (directory, f"{directory}: {kind} {target['name']}")
        shutil.copy2(message["executable"], f"{bundle}/tests/{name}")
    elif kind in ("example", "bin"):
        shutil.copy2(message["executable"], f"{bundle}/examples/{target['name']}")
with open(f"{bundle}/tests.txt", "w", encoding="utf-8") as listing:
    for name, (directory, text) in sorted(tests.items()):
        listing.write(f"{name}\t{directory}\t{text}\n")
PYTHON
if command -v strip >/dev/null; then
    find "$bundle/tests" "$bundle/examples" -type f -exec strip {} +
fi
cp scripts/run-bundle.sh "$bundle/run-tests.sh"
cp scripts/compare-bits.sh scripts/profile-counters.sh "$bundle/"
mkdir "$bundle/peers"
cp examples/bench/peers/torch_peers.py "$bundle/peers/"
for peer in librungs_peers.so rust-peers include; do
    built=${CARGO_TARGET_DIR:-target}/peers/$peer
    if [ -e "$built" ]; then
        cp -R "$built" "$bundle/peers/"
    fi
done

size=$(du -sm "$bundle" | cut -f1)
binaries=$(wc -l <"$bundle/tests.txt")
programs=$(find "$bundle/examples" -type f | wc -l)
echo "$bundle: $binaries test binaries, $programs programs, $size MiB"
