#!/usr/bin/env bash
# A hundred steps of real recipes on one to four processes: with --exact the bits of one process, without it its losses
# to 1e-6, where no chance draws for each part by itself (dropout). Usage: recipes_test.sh VELDT KIND DATA   KIND: openmpi or mpich; DATA: a folder with mnist and text
set -euo pipefail
veldt=$1 kind=$2 data=$3
[[ -d $data/mnist && -d $data/text ]] || { echo "SKIPPED: no data sets"; exit 77; }
source "$(dirname "$0")/launch.sh"
recipes=$(cd "$(dirname "$0")/../../recipes" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cd "$root"

train() {  # COUNT OUT RECIPE ARGUMENTS..
  local count=$1 out=$2 recipe=$3
  shift 3
  local words=(train "$recipe" --data "$data" --threads 1 --quiet --json --out "$out" "$@")
  if ((count == 0)); then "$veldt" "${words[@]}" >"$out.json"; else launch "$count" "$veldt" "${words[@]}" >"$out.json"; fi
}

compare() {  # RECIPE SETTINGS..
  local recipe=$1 count
  shift
  local settings=(--set train.steps=100 --set train.epochs=0 --set train.evaluate_every=50)
  for word in "$@"; do settings+=(--set "$word"); done
  sed 's/dropout=0\.[0-9]*/dropout=0/; /^ *"Dropout(.*)",$/d' "$recipes/$recipe.toml" >"$recipe.toml"
  train 0 "$recipe-one" "$recipes/$recipe.toml" "${settings[@]}" --exact 4
  train 0 "$recipe-plain" "$recipe.toml" "${settings[@]}"
  for count in 1 2 3 4; do
    train $count "$recipe-exact$count" "$recipes/$recipe.toml" "${settings[@]}" --exact 4
    same_weights "$recipe-one" "$recipe-exact$count" || fail "$recipe: $count processes have other weights than one"
    ((count == 1)) && continue
    train $count "$recipe-$count" "$recipe.toml" "${settings[@]}"
    same_losses "$recipe-plain" "$recipe-$count" || fail "$recipe: $count processes have other losses than one"
  done
  echo "$recipe: 1 to 4 processes agree"
}

compare mnist data.batch=48
compare char_lstm data.batch=12
compare gpt data.batch=12 optimizer.warmup=10
