#!/usr/bin/env bash
# A program (examples/generate.cpp) continues a text with a GPT-2 from a folder: the golden one, with a tokenizer of
# twenty words.
# Usage: generate_test.sh PROGRAM
set -euo pipefail
program=$1 golden=$(cd "$(dirname "$0")/../golden" && pwd)/language.json
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cd "$root"

fail() {
  printf 'FAIL: %s\n' "$*"
  exit 1
}

python3 - "$golden" <<'PYTHON'
import json
import pathlib
import struct
import sys

network = json.loads(pathlib.Path(sys.argv[1]).read_text())["gpt2"]
pathlib.Path("config.json").write_text(json.dumps(network["config"]))
header, data = {}, b""
for name, tensor in network["state"].items():
    values = struct.pack(f"<{len(tensor['values'])}f", *tensor["values"])
    header[name] = {"dtype": "F32", "shape": tensor["shape"], "data_offsets": [len(data), len(data) + len(values)]}
    data += values
text = json.dumps(header).encode()
pathlib.Path("model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
words = {f"w{i}": i for i in range(20)}
pathlib.Path("tokenizer.json").write_text(json.dumps(
    {"model": {"type": "WordLevel", "vocab": words, "unk_token": "w0"}, "pre_tokenizer": {"type": "WhitespaceSplit"}}))
# What transformers' greedy search writes after these.
expected = network["expected"]
first = expected["ids"]["values"][:expected["ids"]["shape"][1]]
pathlib.Path("prompt").write_text(" ".join(f"w{i}" for i in first))
pathlib.Path("expected").write_text(" ".join(f"w{i}" for i in first + expected["greedy"]["values"]))
PYTHON

"$program" . "$(cat prompt)" 16 0 >found 2>times || fail "it ends with $?"
[[ $(cat found) == "$(cat expected)" ]] || fail "it writes $(cat found), and not $(cat expected)"
grep -q '^16 tokens, ' times || fail "it says $(cat times)"
"$program" . "$(cat prompt)" 4 0.8 >found 2>times || fail "drawing, it ends with $?"
if "$program" nowhere x 2>error; then fail "a folder that is not there is one"; fi
grep -q 'nowhere/config.json' error || fail "it says $(cat error)"
