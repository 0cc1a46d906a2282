#!/usr/bin/env bash
# tools/gpu_run must say why there is no GPU, survive missing peers, and never call a target met that was not measured.
# Usage: gpu_run_test.sh REPOSITORY BUILD_FOLDER    (exits with 77 where its programs were not built)
set -euo pipefail
repository=$1 build=$2
for program in veldt bench_gpu; do
  [[ -x $build/bin/$program ]] || { echo "skipped: there is no $program"; exit 77; }
done
command -v python3 >/dev/null || { echo 'skipped: there is no python3'; exit 77; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0
fail() { printf 'FAIL: %s\n' "$1"; failed=1; }

# As an archive has it: its own launcher, and programs beside it. Here the launcher needs no libraries.
mkdir -p "$root/pack/tools" "$root/pack/bench"
cp "$repository"/tools/gpu_{run,report,compare} "$root/pack/tools/"
cp -r "$repository/bench/peers" "$root/pack/bench/"
cp -r "$repository/assets" "$root/pack/"
printf '#!/bin/sh\nprogram=$1\nshift\nexec "%s/bin/$program" "$@"\n' "$build" >"$root/pack/run"
chmod +x "$root/pack/run"

status=0
CUDA_VISIBLE_DEVICES=-1 "$root/pack/tools/gpu_run" --out "$root/none" >"$root/said" 2>&1 || status=$?
[[ $status == 5 ]] || fail "without a GPU its status is $status: $(cat "$root/said")"
grep -q 'why: .*\(CUDA error\|library\|libveldt_cuda\)' "$root/said" || fail "it does not say why: $(cat "$root/said")"

"$root/pack/tools/gpu_run" --device cpu --quick --out "$root/cpu" >"$root/said" 2>&1 ||
  fail "the rehearsal on the CPU fails: $(tail -n 30 "$root/said")"
grep -q 'seed_net *f32 ' "$root/said" || fail 'it prints no seed_net'
grep -q '^cuBLAS .*missing' "$root/said" || fail 'it does not name a peer that is missing'
python3 - "$root/cpu/gpu.json" <<'CHECK' || fail 'gpu.json is not as it should be'
import json, sys
found = json.load(open(sys.argv[1]))
steps = {(s["case"], s["precision"]) for s in found["veldt"]["steps"]}
assert {("xor_plan", "f32"), ("seed_net", "f32"), ("render_8192", "f32")} <= steps, steps
assert found["veldt"]["finished"] and len(found["targets"]) >= 20, found["targets"]
assert all(t["verdict"] == "unmeasured" for t in found["targets"]), found["targets"]
CHECK

# compute-sanitizer, by a stand-in that runs nothing: clean, with an error, and one that never ends.
mkdir "$root/path"
sanitizer() {  # RESULT LINE...
  local result=$1
  shift
  printf '%s\n' '#!/bin/sh' "$@" >"$root/path/compute-sanitizer"
  chmod +x "$root/path/compute-sanitizer"
  PATH=$root/path:$PATH "$root/pack/tools/gpu_run" --device cpu --minutes 0.4 --only sanitizer --out "$root/cpu" \
    >"$root/said" 2>&1 || true
  grep -q "memcheck *$result" "$root/said" || fail "memcheck is not \"$result\": $(cat "$root/said")"
}
ok='echo "[       OK ] Cuda.Adds (3 ms)"'
sanitizer 'passed: 1 passed, 0 failed' "$ok" 'echo "========= ERROR SUMMARY: 0 errors"'
sanitizer 'FAILED: Invalid __global__ read' "$ok" 'echo "========= Invalid __global__ read of size 4 bytes"'
sanitizer 'FAILED: ERROR SUMMARY: 2' "$ok" 'echo "========= ERROR SUMMARY: 2 errors"' 'exit 99'
sanitizer 'FAILED: 0 passed' 'echo "========= ERROR SUMMARY: 0 errors"'
sanitizer 'cut short: 1 passed' "$ok" 'sleep 60'

# The report judges what was measured: a made-up run on a GPU.
mkdir "$root/made_up"
cat >"$root/made_up/veldt.json" <<'JSON'
{"quick": false, "about": {"device": "cuda:0", "name": "NVIDIA H200"}, "fits": [], "steps": [
  {"case": "xor_plan", "precision": "f32", "median_ms": 0.01, "gflop": 0, "steady_steps": 10000, "steady_allocations": 0,
   "steady_bytes": 0},
  {"case": "seed_net", "precision": "bf16", "median_ms": 0.2, "gflop": 23.65}]}
JSON
cat >"$root/made_up/peers.json" <<'JSON'
{"peers": [{"program": "PyTorch eager", "steps": [{"case": "xor_plan", "precision": "f32", "median_ms": 0.25}]},
           {"program": "PyTorch compiled", "steps": [{"case": "xor_plan", "precision": "f32", "median_ms": 0.05}]}]}
JSON
"$repository/tools/gpu_report" "$root/made_up" >"$root/said"
for line in 'XOR by Plan against PyTorch .* 5 times .*FAIL' 'XOR by Plan against CuPy .*unmeasured' \
  'a steady step takes no memory .*pass' 'seed net, bf16 .* 0.2 ms .*FAIL' 'seed_net .*bf16 .* 15 %'; do
  grep -q "$line" "$root/said" || fail "the report has no line like \"$line\": $(cat "$root/said")"
done

# Numbers of two devices: the last digits of floats may differ, and whole numbers not at all.
python3 - "$root" <<'MAKE'
import struct, sys
def write(name, x, n):
    with open(f"{sys.argv[1]}/{name}.results", "wb") as f:
        f.write(b"A.Floats f32 8\n" + struct.pack("<2f", 1.0, x) + b"A.Whole i64 8\n" + struct.pack("<q", n))
write("a", 0.5, 7), write("close", 0.5 + 2**-24, 7), write("far", 0.5 + 2**-10, 7), write("other", 0.5, 8)
MAKE
"$repository/tools/gpu_compare" "$root/a.results" "$root/close.results" >/dev/null || fail 'a last digit may differ'
for name in far other; do
  ! "$repository/tools/gpu_compare" "$root/a.results" "$root/$name.results" >/dev/null || fail "$name passes as the same"
done
exit "$failed"
