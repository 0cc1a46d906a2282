#!/usr/bin/env bash
# Learns the networks that packed photographs begin with further, and writes them into the source. About 20 minutes.
# Usage: bench/packing_base.sh BENCH_PACKING_BASE PICTURE...
# The numbers belong to the format: raise kVersion of veldt/codec/packed_file.cpp with them.
set -euo pipefail
program=$(realpath "$1")
shift
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# Each at the lambda of its place in kBaseLambdas, from one near it.
"$program" 1e-3 300 72 0 "$made/0" "$@"
"$program" 4e-3 220 72 "$made/0" "$made/low" "$@"
"$program" 1.6e-2 220 72 "$made/low" "$made/1" "$@"
"$program" 2e-4 220 72 "$made/0" "$made/high" "$@"
"$program" 2e-4 400 72 "$made/high" "$made/2" "$@"
{
  sed '/^const std::array/q' "$(dirname "$0")/../veldt/codec/base_networks_texts.cpp"
  for i in 0 1 2; do
    sed 's/.*/    "&"/' "$made/$i"
    ((i == 2)) || printf '    ,\n'
  done
  printf '};\n\n}  // namespace veldt::codec\n'
} > "$made/texts.cpp"
cp "$made/texts.cpp" "$(dirname "$0")/../veldt/codec/base_networks_texts.cpp"
