#!/bin/bash
# Trains a small prior for a few steps, goes on from it, and judges it: test.sh TRAIN_PRIOR ASSETS
set -eu
train_prior=$1
pictures=$(mktemp -d)
trap 'rm -rf "$pictures"' EXIT
mkdir "$pictures/photographs" "$pictures/drawings"
cp "$2"/cub_1024.png "$pictures/photographs/a.png"
cp "$2"/cub_1024.png "$pictures/photographs/b.png"
cp "$2"/cub_1024.png "$pictures/drawings/"
cd "$pictures"
small=(photographs drawings prior.safetensors --width 4 --depth 0 --seed 3)
"$train_prior" "${small[@]}" --steps 300
cp prior.safetensors once
"$train_prior" "${small[@]}" --steps 300  # nothing is left to do
cmp prior.safetensors once
gain() { "$train_prior" --judge "$1" 1 "$2"/cub_1024.png | tail -1 | cut -d' ' -f1; }
"$train_prior" photographs drawings hardly --width 4 --depth 0 --seed 3 --steps 1
before=$(gain hardly "$2") after=$(gain prior.safetensors "$2")
echo "$before dB over Lanczos3 after a step, $after after all"
awk "BEGIN { exit !($after > $before + 0.3) }"
# A run goes on with what it has begun, and with nothing else.
if "$train_prior" "${small[@]}" --steps 300 --two-tone 1; then exit 1; fi
cmp prior.safetensors once
if "$train_prior" "${small[@]}" --steps many; then exit 1; fi
if "$train_prior" photographs nowhere out; then exit 1; fi
