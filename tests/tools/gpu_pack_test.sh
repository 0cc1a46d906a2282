#!/usr/bin/env bash
# The archive of tools/gpu_pack must run where there is nothing else, and its check must see what is missing.
# Usage: gpu_pack_test.sh REPOSITORY BUILD_FOLDER    (exits with 77 where it cannot be made or tried)
set -euo pipefail
repository=$1 build=$2
for file in bin/veldt bin/test_cuda bin/test_field bin/bench_gpu lib/libveldt_cuda.so; do
  [[ -f $build/$file ]] || { echo "skipped: there is no $file"; exit 77; }
done
((EUID == 0)) || { echo 'skipped: only root can change the root folder'; exit 77; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

"$repository/tools/gpu_pack" "$build" "$root/whole.tar.gz"
"$repository/tools/gpu_pack_check" "$root/whole.tar.gz"

# On this machine's own loader too.
tar -C "$root" -xf "$root/whole.tar.gz"
"$root/veldt-gpu/run" veldt --version

# A rehearsal of cases and of a few of the tests, with the emulated device as the GPU. It cannot be hidden, and is filled
# for each program.
cp "$root/veldt-gpu/lib/libveldt_cuda.so" "$root/real.so"
cp "$root/veldt-gpu/lib/libcuda_emulated.so" "$root/veldt-gpu/lib/libveldt_cuda.so"
GTEST_FILTER='CudaMatmul*:CudaReduce*:CudaPlan*' "$root/veldt-gpu/run" --only tests,cases --out "$root/out" >"$root/said" 2>&1 || true
for line in 'every op and kernel against the CPU *passed' 'fields, fitted and drawn *passed' \
  'emulated kernels against the device *passed: .* 0 tests off' 'a fit that is stopped: exit 130 *passed' \
  'the checkpoint was kept, and goes on *passed' 'no GPU to be seen: exit 5 *FAILED'; do
  grep -q "$line" "$root/said" || { printf 'FAIL: no line like "%s":\n%s\n' "$line" "$(cat "$root/said")"; exit 1; }
done
cp "$root/real.so" "$root/veldt-gpu/lib/libveldt_cuda.so"

rm "$root"/veldt-gpu/lib/libpng*
tar -C "$root" -czf "$root/less.tar.gz" veldt-gpu
if "$repository/tools/gpu_pack_check" "$root/less.tar.gz" >"$root/said" 2>&1; then
  echo 'FAIL: an archive without libpng passes'
  cat "$root/said"
  exit 1
fi
