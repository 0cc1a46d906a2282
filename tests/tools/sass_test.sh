#!/usr/bin/env bash
# tools/check_sass must see local memory, registers and instructions that a loop need not have, and CUDA's kernels must be
# as its table says. Usage: sass_test.sh REPOSITORY   (exits with 77 without nvcc or nvdisasm)
set -euo pipefail
repository=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0
fail() { printf 'FAIL: %s\n' "$1"; failed=1; }

cat >"$root/planted.cu" <<'END'
__global__ void local(int* p) {
  int own[64] = {};
  for (int i = 0; i < 99; ++i) own[p[i] & 63] += i;
  p[threadIdx.x] = own[threadIdx.x & 63];
}
__global__ void sums(float* p, int n) {
  float a = p[0], b = p[1];
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int k = 0; k < 8; ++k) a = a * b + 1.5f;
    p[i] = a;
  }
}
END
release=$("$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p') || true
expect() {  # TEXT ROW: what is said of the planted kernels, held against a table of one row
  printf 'nvcc %s\n%s\n' "${release:-none}" "$2" >"$root/table"
  local said status=0
  said=$("$repository/tools/check_sass" --table "$root/table" "$root/planted.cu") || status=$?
  ((status != 77)) || { printf '%s\n' "$said"; exit 77; }
  [[ $said == *"$1"* ]] || fail "expected \"$1\", and it says: $said"
}
expect 'local has' "$root/planted.cu sums 40 0 FFMA 1 8"
expect '2 kernels are as noted' "$root/planted.cu sums 40 0 FFMA 1 8
$root/planted.cu local 40 1024 - 0 0"
expect 'sums takes' "$root/planted.cu sums 4 0 FFMA 1 8"
expect 'instructions for each FFMA' "$root/planted.cu sums 40 0 FFMA 1 1.01"
expect 'has no kernel other' "$root/planted.cu other 40 0 - 0 0"

"$repository/tools/check_sass" || failed=1
exit $failed
