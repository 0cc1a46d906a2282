#!/usr/bin/env bash
# A program (examples/classify.cpp) says what pictures show, by a network that `veldt train` taught from a folder of
# pictures: by the run's folder, and by each file in it.
# Usage: classify_test.sh VELDT PROGRAM
set -euo pipefail
veldt=$1 program=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cd "$root"

fail() {
  printf 'FAIL: %s\n' "$*"
  exit 1
}

mkdir -p pictures/dark pictures/light
for i in 1 2 3 4 5 6 7 8; do
  printf 'P2\n2 2\n255\n%d %d %d %d\n' $((i * 9)) $((i * 5)) $((i * 7)) $((i * 3)) >pictures/dark/$i.pgm
  printf 'P2\n2 2\n255\n%d %d %d %d\n' $((255 - i * 9)) $((255 - i * 5)) $((255 - i * 7)) $((255 - i * 3)) \
    >pictures/light/$i.pgm
done
cat >tones.toml <<'TOML'
[data]
kind = "pictures"
path = "pictures"
height = 2
width = 2
grey = true
prepare = ["normalise(0.5, 0.5)"]
batch = 4
validation = 0.25
[model]
layers = ["Flatten", "Linear(outputs)"]
[optimizer]
lr = 0.1
[train]
epochs = 60
TOML
"$veldt" train tones.toml --data . --quiet >train.log 2>&1 || { cat train.log; fail 'the network was not trained'; }

# 8 x 8 pixels of the levels 40 and 220.
base64 -d >night.png <<<iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAADklEQVR42mPQgAIGyhgAaFcKAQbP20cAAAAASUVORK5CYII=
base64 -d >snow.png <<<iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAADklEQVR42mO4AwUMlDEAvLE3ASmzY08AAAAASUVORK5CYII=
for network in runs/tones runs/tones/model.safetensors runs/tones/best.safetensors; do
  shown=$("$program" "$network" night.png snow.png) || fail "the program cannot use $network"
  [[ $shown == 'night.png: dark, '*$'\n''snow.png: light, '* ]] || fail "by $network the pictures are: $shown"
  [[ $("$veldt" predict "$network" night.png) == 'night.png:  dark '* ]] || fail "veldt predict $network says otherwise"
done

# What cannot be used is told in three lines.
if "$program" tones.toml night.png 2>refusal; then fail 'a recipe passes for a network'; fi
(($(wc -l <refusal) == 3)) || { cat refusal; fail 'a refusal does not have three lines'; }
