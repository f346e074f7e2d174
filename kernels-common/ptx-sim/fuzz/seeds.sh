#!/usr/bin/env bash
# Makes the first inputs of both fuzz targets from the committed PTX: each function by itself, behind the lines of its
# file that belong to no function, and each file that is small enough as a whole.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
root=../../..
mkdir -p corpus/parse corpus/launch

find "$root/crates" "$root/kernels-common" -name '*.ptx' -not -path '*/target/*' -not -path '*/fuzz/*' | sort |
    while read -r file; do
        name=$(basename "$file" .ptx)
        awk -v out="corpus/parse/$name" '
            /^[[:space:]]*(\/\/.*)?$/ { next }
            !inside && /^(\.(visible|weak|extern)[ \t]+)?\.(entry|func)/ { inside = 1; body = "" }
            !inside { head = head $0 "\n"; next }
            { body = body $0 "\n" }
            /^}/ || /^;/ { inside = 0; printf "%s%s", head, body > (out "." ++count ".ptx") }
        ' "$file"
        if [ "$(stat -c %s "$file")" -le 16384 ]; then
            cp "$file" "corpus/parse/$name.whole.ptx"
        fi
    done

# The other target takes its choices from a byte in front of the text. A space in front of PTX is no mistake.
for file in corpus/parse/*.ptx; do
    { printf ' '; cat "$file"; } >"corpus/launch/$(basename "$file")"
done
