#!/bin/sh
# Stands in for ptxas: accepts the text candidate.ptx if its .version is the one in `least`, beside
# the link to this script, or a later one.
least=$(cat "$(dirname "$0")/least")
version=$(sed -n 's/^\.version //p' candidate.ptx)
lower=$(printf '%s\n%s\n' "$least" "$version" | sort -V | head -n 1)
if [ "$lower" != "$least" ]; then
    echo "ptxas candidate.ptx: requires PTX ISA .version $least or later" >&2
    exit 255
fi
