#!/usr/bin/env bash
# Makes the first inputs of both fuzz targets from the committed PTX: each kernel by itself, behind the lines of its
# file that belong to no kernel and the functions that it may call, and each file that is small enough as a whole.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
root=../../..
mkdir -p corpus/parse corpus/launch

find "$root/crates" "$root/kernels-common" -name '*.ptx' -not -path '*/target/*' -not -path '*/fuzz/*' | sort |
    while read -r file; do
        # Several folders have files of one name.
        name=$(basename "$(dirname "$file")").$(basename "$file" .ptx)
        awk -v out="corpus/parse/$name" '
            /^[[:space:]]*(\/\/.*)?$/ { next }
            !inside && /^(\.(visible|weak|extern)[ \t]+)?\.(entry|func)/ {
                inside = 1; entry = /\.entry/; body = ""
            }
            !inside { head = head $0 "\n"; next }
            { body = body $0 "\n" }
            /^}/ || /^;/ {
                inside = 0
                if (entry) { printf "%s%s", head, body > (out "." ++count ".ptx") } else { head = head body }
            }
        ' "$file"
        cp "$file" "corpus/parse/$name.whole.ptx"
    done
# libFuzzer would cut longer ones, and half a kernel is none.
find corpus/parse -name '*.ptx' -size +16384c -delete

# The other target takes its choices from three bytes in front of the text. These are, with no seed and all checks, with
# a seed, on three threads without the search for races, and a cooperative launch with a seed: two blocks, a budget of
# 2000 instructions, dynamic shared memory and a buffer of zeros.
choices=('\x20\x91\x01' '\x61\x91\x02' '\x28\x92\x03' '\x21\xb1\x04')
find corpus/parse -name '*.ptx' -size -4000c | while read -r file; do
    for number in "${!choices[@]}"; do
        { printf '%b' "${choices[number]}"; cat "$file"; } >"corpus/launch/$(basename "$file" .ptx).$number"
    done
done
