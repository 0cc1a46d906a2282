#!/usr/bin/env bash
# Learns what packed photographs begin with, and writes it into the source. About 50 minutes on two cores.
# Usage: bench/packing_base.sh PRESET PICTURE...
# PRESET: a folder below build/, made with -DVELDT_BUILD_BENCH=ON.
# The base networks belong to the format: raise kVersion of veldt/codec/packed_file.cpp with them.
set -euo pipefail
build=build/$1
shift
pictures=()
for picture; do pictures+=("$(realpath "$picture")"); done
cd "$(dirname "$0")/.."
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# Each begins with what the one before it wrote into the library.
learn() {
  cmake --build "$build" --target bench_packing_base
  "$build/bin/bench_packing_base" "$1" "$2" "$made" "${pictures[@]}"
  cp "$made/analysis.base64" veldt/pack/
  {
    sed '/^const std::array/q' veldt/codec/base_networks_texts.cpp
    for i in 0 1 2 3 4; do
      sed 's/.*/    "&"/' "$made/base$i"
      ((i == 4)) || printf '    ,\n'
    done
    printf '};\n\n}  // namespace veldt::codec\n'
  } > "$made/texts.cpp"
  cp "$made/texts.cpp" veldt/codec/base_networks_texts.cpp
}
learn both 40000
learn networks 50
learn analysis 3500
