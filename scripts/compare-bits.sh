#!/usr/bin/env bash
# The dot product on the GPU, on the simulator and in plain Rust: the same bits? Prints a table, fails if not.
#
#   bash scripts/compare-bits.sh              in a checkout, on a machine with a GPU
#   bash gpu-bundle/compare-bits.sh           in a bundle made by scripts/bundle.sh
#
# DEVICES: the devices to compare with the host, by default "cuda:0 sim".
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$here/examples/dot
if [ ! -x "$program" ]; then
    cd "$here/.."
    cargo build --locked --release --example dot
    program=${CARGO_TARGET_DIR:-target}/release/examples/dot
fi
# DEVICES is meant to be split into words.
# shellcheck disable=SC2086
python3 - "$program" ${DEVICES:-cuda:0 sim} <<'PYTHON'
"""Runs the example for every type, length and device, and compares the bits."""
import json, subprocess, sys

program, *devices = sys.argv[1:]
lengths = ["0", "1", "31", "2047", "4097", "10^6+3", "2^24+1"]
different = 0
print(f"{'type':5} {'n':>9}  {'host':18}" + "".join(f"  {device:18}" for device in devices))
for dtype in ["f32", "f64", "f16", "bf16", "i32", "u32", "i64", "u64"]:
    for n in lengths:
        reports = []
        for device in devices:
            command = [program, "--n", n, "--dtype", dtype, "--device", device, "--repeat", "1", "--json"]
            run = subprocess.run(command, capture_output=True, text=True)
            if not run.stdout:
                sys.exit(f"{' '.join(command)}: {run.stderr}")
            reports.append(json.loads(run.stdout))
        host = reports[0]["canonical_bits"]
        same = all(report["bits"] == host and report["ok"] for report in reports)
        different += not same
        bits = "".join(f"  {report['bits']:18}" for report in reports)
        print(f"{dtype:5} {reports[0]['n']:>9}  {host:18}{bits}{'' if same else '  DIFFERENT'}")
print(f"{different} different" if different else "All bits are the same.")
sys.exit(different > 0)
PYTHON
