#!/usr/bin/env bash
# libveldt_cuda.so must stay small, export one function, and need nothing that a machine without a driver lacks.
# Usage: cuda_library_test.sh REPOSITORY LIBRARY   (exits with 77 where it was not built)
set -euo pipefail
library=${2:-}
[[ -f $library ]] || { echo 'the CUDA backend is not built here'; exit 77; }
failed=0
fail() { printf 'FAIL: %s\n' "$1"; failed=1; }

bytes=$(stat -c %s "$library")
((bytes < 30 * 1024 * 1024)) || fail "it has $bytes bytes, and may have 30 MiB"

needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
for name in $needed; do
  case $name in
    libstdc++.so.* | libgcc_s.so.* | libm.so.* | libc.so.* | ld-linux*) ;;
    *) fail "it needs $name, which a machine without a driver may lack" ;;
  esac
done

readelf -W -S "$library" | grep -q '\.nv_fatbin' || fail 'it holds no code for a GPU'
exported=$(readelf -W --dyn-syms "$library" | awk '$5 != "LOCAL" && $7 != "UND" && $7 != "Ndx" && $8 != "" { print $8 }')
[[ $exported == veldt_device_plugin ]] ||
  fail "it exports $(wc -w <<<"$exported") names, $(head -n 3 <<<"$exported" | tr '\n' ' ')..., and should export veldt_device_plugin alone"
exit "$failed"
