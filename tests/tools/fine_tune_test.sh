#!/usr/bin/env bash
# A program (examples/fine_tune.cpp) teaches a known network further, from the weights of a file that `veldt train`
# wrote; what it writes is a known network again.
# Usage: fine_tune_test.sh VELDT PROGRAM
set -euo pipefail
veldt=$1 program=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cd "$root"

fail() {
  printf 'FAIL: %s\n' "$*"
  exit 1
}

# Two by two pixels of one colour; which level is the brightest is the class.
tone() { printf 'P3\n2 2\n255\n'; for _ in 1 2 3 4; do printf '%d %d %d\n' "$1" "$2" "$3"; done; }
for i in $(seq 1 50); do
  for part in train test; do
    for class in red green; do
      mkdir -p "colours/$part/$class"
      strong=$((255 - i)) weak=$((i / 2))
      if [[ $class == red ]]; then tone $strong $weak 60; else tone $weak $strong 60; fi >"colours/$part/$class/$i.ppm"
    done
  done
done
cat >first.toml <<'TOML'
[data]
kind = "pictures"
path = "colours"
height = 32
width = 32
batch = 25
[model]
architecture = "mobilenet_v2"
[optimizer]
lr = 1e-3
[train]
epochs = 20
TOML
"$veldt" train first.toml --data . --quiet >train.log 2>&1 || { cat train.log; fail 'no weights to begin with'; }

# A file of another network is refused in three lines.
if "$program" resnet18 runs/first/model.safetensors colours 32 2>refusal; then fail 'other weights pass'; fi
(($(wc -l <refusal) == 3)) || { cat refusal; fail 'the refusal does not have three lines'; }
"$program" mobilenet_v2 runs/first/model.safetensors colours 32 3 25 >out || { cat out; fail 'nothing was learned'; }
grep -q 'all but the norms: 100.00 % right' out || { cat out; fail 'red is not told from green'; }
[[ $("$veldt" info tuned.safetensors) == *mobilenet_v2* ]] || fail 'what was written does not say what it is'
# And of which size its pictures are, which is not the architecture's own.
grep -aqF '\"height\":32' tuned.safetensors || fail 'its pictures are of another size'
