#!/usr/bin/env bash
# tools/gpu_run must say why there is no GPU, survive missing peers, and never call a target met that was not measured.
# Usage: gpu_run_test.sh REPOSITORY BUILD_FOLDER    (exits with 77 where its programs were not built)
set -euo pipefail
repository=$1 build=$2
command -v python3 >/dev/null || { echo 'skipped: there is no python3'; exit 77; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0
fail() { printf 'FAIL: %s\n' "$1"; failed=1; }

# Numbers of two devices: the last digits of floats may differ, and whole numbers not at all.
python3 - "$root" "$repository/tools/gpu_compare" <<'COMPARE' || fail 'gpu_compare judges wrongly'
import random, struct, subprocess, sys
root, tool = sys.argv[1:]
passes = True
def write(name, dtype, values, test):
    if dtype.startswith("bf16"):
        data = b"".join(struct.pack("<f", v)[2:] for v in values)
    else:
        data = struct.pack(f"<{len(values)}{ {'f32': 'f', 'f64': 'd', 'f16': 'e', 'i64': 'q'}[dtype.split('~')[0]]}", *values)
    with open(f"{root}/{name}.results", "wb") as f:
        f.write(f"{test} {dtype} {len(data)}\n".encode() + data)
def expect(near, dtype, a, b, what, test="A.Test"):
    global passes
    write("a", dtype, a, test), write("b", dtype, b, test)
    found = subprocess.run([tool, f"{root}/a.results", f"{root}/b.results"], stdout=subprocess.DEVNULL).returncode == 0
    if found != near:
        passes = False
        print("near" if found else "far", what)
inf, nan = float("inf"), float("nan")
expect(True, "f32", [1, 0.5], [1, 0.5 + 2**-24], "a last digit")
expect(False, "f32", [1, 0.5], [1, 0.5 + 2**-10], "thousands of last digits")
expect(False, "i64", [7], [8], "whole numbers")
expect(False, "f32", [3e38, 1, 2, 3], [3e38, 1.5, 2, 3], "a small number beside one that is large")
expect(False, "f32", [1e-30, 1, 2, 3], [1e-30, 1, 2, 1e30], "a number that became large")
expect(False, "f16", [1, 1, 2, 3], [1, 1.25, 2, 3], "a half that is off by a quarter")
expect(True, "f16", [1, 1, 2, 3], [1, 1 + 2**-10, 2, 3], "a last digit of a half")
expect(True, "f32", [3.4028e38, 1], [inf, 1], "an overflow that is near")
expect(False, "f32", [3e37, 1], [inf, 1], "an overflow that is not")
expect(False, "f32", [1, 1], [nan, 1], "not a number")
expect(False, "f32", [-inf, 1], [inf, 1], "infinities of both signs")
expect(True, "f32~0.004", [1, 2], [1.003, 2], "tf32")
expect(False, "f32~3e-6", [1, 2], [1.003, 2], "three products of tf32")
# Sums of which terms cancel have the error of the terms; but not all numbers that are small may be wrong.
random.seed(7)
x = [random.gauss(0, 1) for _ in range(1000)]
expect(True, "f32", x, [v + random.gauss(0, 2**-21) for v in x], "sums")
x = [1.0 + v * v for v in x] + [1e-5] * 1200
expect(False, "f32", x, [v if v >= 1 else v * (1 + 2**-10) for v in x], "small numbers that are all wrong")
# One in eight numbers is huge in tests of bits: that says nothing of what others may be off by.
x = [2.0**20 if i % 8 == 0 else 1 + i / 1000 for i in range(1000)]
y = [v * (1 + 2**-10) if i % 4 == 1 else v for i, v in enumerate(x)]
expect(False, "f32", x, y, "a quarter of the ordinary numbers", "CudaBinary.AgreesWithTheCpu")
expect(True, "f32", x, y, "what has the size of the terms of a sum", "CudaMatmul.AgreesWithTheCpu")
sys.exit(not passes)
COMPARE

# Suites that it names are there.
python3 - "$repository" <<'NAMES' || fail 'gpu_run or gpu_compare names suites that test_cuda has not'
import importlib.machinery, importlib.util, pathlib, re, sys
repository = pathlib.Path(sys.argv[1])
sys.dont_write_bytecode = True
def tool(name):
    loader = importlib.machinery.SourceFileLoader(name, str(repository / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module
gpu_run, gpu_compare = tool("gpu_run"), tool("gpu_compare")
text = "".join(path.read_text() for path in (repository / "tests/cuda").glob("*.cpp"))
suites = {match[1] for match in re.finditer(r"^TEST(?:_[FP])?\((\w+),", text, re.M)}
suites |= {f"{match[1]}/{match[2]}" for match in re.finditer(r"^INSTANTIATE_TEST_SUITE_P\((\w+), (\w+),", text, re.M)}
named = {*gpu_compare.SUMS_NOTHING, *gpu_run.SHARES_NOTHING, *gpu_run.FIRST, *gpu_run.LAST}
if named - suites:
    print("not there:", ", ".join(sorted(named - suites)))
sys.exit(bool(named - suites))
NAMES

# Suites one by one in processes of their own: one that passes, one in which the device is lost, one that hangs.
mkdir -p "$root/lone/tools"
cp "$repository"/tools/gpu_{run,report,compare} "$root/lone/tools/"
cat >"$root/lone/run" <<'STAND_IN'
#!/bin/sh
case "$*" in
  test_train*) echo '[       OK ] TrainerOnADevice.Resumes (3 ms)' ;;
  test_onnx*) echo '[       OK ] OnnxOnADevice.RunsATransformer (3 ms)' ;;
  test_field*) echo '[       OK ] FieldOnADevice.Fits (3 ms)' ;;
  *--gtest_list_tests) printf 'CudaFine.\n  Adds\nOpTable/CudaLost.\n  Good\n  Bad/1  # GetParam()\n  After\nCudaHangs.\n  Ends\n  Hangs\n' ;;
  *CudaFine.\*) echo '[       OK ] CudaFine.Adds (3 ms)'; echo '[ DISTANCE ] f32: outputs 1e-06 of 3e-06' ;;
  *CudaLost.\*)
    echo '[       OK ] OpTable/CudaLost.Good (1 ms)'
    printf 'why: CUDA error 700: an illegal memory access\n[  FAILED  ] OpTable/CudaLost.Bad/1, where GetParam() (1 ms)\n'
    echo '[  FAILED  ] OpTable/CudaLost.After (1 ms)'
    exit 1 ;;
  *CudaLost.After | *CudaHangs.Ends) echo '[       OK ] CudaLost.After (1 ms)' ;;
  *CudaLost.Bad/1) exit 1 ;;
  *CudaHangs.\*) echo '[       OK ] CudaHangs.Ends (1 ms)'; sleep 60 ;;
  *CudaHangs.Hangs) sleep 60 ;;
  *) exit 3 ;;
esac
STAND_IN
chmod +x "$root/lone/run"
mkdir "$root/lone/bin"
touch "$root"/lone/bin/test_{field,train,onnx}
"$root/lone/tools/gpu_run" --device cpu --minutes 1.2 --only tests --out "$root/lone/out" >"$root/said" 2>&1 || true
for line in 'OpTable/CudaLost *FAILED: .* of 2 tests by themselves fail: alone_CudaLost_Bad_1$' \
  'CudaHangs *FAILED: .* of 1 tests by themselves fail: alone_CudaHangs_Hangs$' \
  'every op and kernel against the CPU *FAILED: 3 passed, 2 failed, .* see test_CudaLost.log, test_CudaHangs.log' \
  'as far from double *passed: f32: outputs 1e-06 of 3e-06$' 'fields, fitted and drawn *passed' \
  'networks, trained and resumed *passed: 1 passed' 'networks from ONNX *passed: 1 passed'; do
  grep -q "$line" "$root/said" || fail "no line like \"$line\": $(cat "$root/said")"
done
tar -tzf "$root/lone/out.tar.gz" | grep '^out/alone_CudaLost_Bad_1.log$' >/dev/null || fail 'the log of a test is not in the one file'
tar -tzf "$root/lone/out.tar.gz" | grep '^out/gpu.json$' >/dev/null || fail 'gpu.json is not in the one file'

for program in veldt bench_gpu; do
  [[ -x $build/bin/$program ]] || { echo "skipped: there is no $program"; exit $((failed ? 1 : 77)); }
done

# As an archive has it: its own launcher, and programs beside it. Here the launcher needs no libraries.
mkdir -p "$root/pack/tools" "$root/pack/bench"
cp "$repository"/tools/gpu_{run,report,compare} "$root/pack/tools/"
cp -r "$repository/bench/peers" "$root/pack/bench/"
cp -r "$repository/assets" "$root/pack/"
printf '#!/bin/sh\ncase "$*" in test_cuda*--gtest_list_tests) printf "Cuda.\\n  Adds\\n"; exit ;; esac
program=$1\nshift\nexec "%s/bin/$program" "$@"\n' "$build" >"$root/pack/run"
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
assert {"lenet", "resnet_block", "gpt_block", "lstm", "scatter_add_1m"} <= {case for case, _ in steps}, steps
assert {"cub", "siren"} <= {fit["case"] for fit in found["veldt"]["fits"]}, found["veldt"]["fits"]
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

# ncu, by a stand-in that counts and one that may not.
counters() {  # RESULT LINE
  printf '%s\n' '#!/bin/sh' "$2" >"$root/path/ncu"
  chmod +x "$root/path/ncu"
  PATH=$root/path:$PATH "$root/pack/tools/gpu_run" --device cpu --only counters --out "$root/cpu" >"$root/said" 2>&1 || true
  grep -q "gpt_block *$1" "$root/said" || fail "ncu is not \"$1\": $(cat "$root/said")"
}
counters 'passed: see ncu_gpt_block.log' 'printf "\"ID\",\"Kernel Name\"\n\"0\",\"attend_kernel\"\n"'
counters 'skipped: ==ERROR== ERR_NVGPUCTRPERM' 'echo "==ERROR== ERR_NVGPUCTRPERM"'

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

exit "$failed"
