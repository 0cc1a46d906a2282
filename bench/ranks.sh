#!/usr/bin/env bash
# What two processes of one thread are worth beside one process of two threads: steps a second of both, in turn. Prints a line for each
# round, and how much of the sums was hidden. 1 is what the same cores would give without any messages.
# Usage: bench/ranks.sh VELDT DATA [ROUNDS]   DATA/mnist holds the four idx files; MPI=mpich for the other launcher
set -euo pipefail
veldt=$1 data=$2 rounds=${3:-3} kind=${MPI:-openmpi}
recipe=$(cd "$(dirname "$0")/../recipes" && pwd)/mnist.toml
source "$(dirname "$0")/../tests/dist/launch.sh"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
settings=(--data "$data" --set data.batch=256 --set train.epochs=2 --set data.validation=0 --quiet --json)

speed() { python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["steps"] / r["seconds"])'; }

for ((i = 1; i <= rounds; ++i)); do
  one=$("$veldt" train "$recipe" "${settings[@]}" --threads 2 --out "$root/one$i" | speed)
  two=$(launch 2 "$veldt" train "$recipe" "${settings[@]}" --threads 1 --out "$root/two$i" --profile 2>"$root/profile" | speed)
  awk "BEGIN { printf \"one process %.1f steps a second, two %.1f: %.3f\n\", $one, $two, $two / $one }"
  grep steps "$root/profile" || true
done
