#!/usr/bin/env bash
# What runs side by side cost each other: the wall time of two runs of a sweep at once, over that of one of them alone,
# each with one thread. Prints a ratio for each repeat; 1 is what two whole cores would give.
# Usage: bench/sweep.sh VELDT DATA [REPEATS]   DATA/mnist holds the four idx files
set -euo pipefail
veldt=$1 data=$2 repeats=${3:-3}
recipe=$(dirname "$0")/../recipes/mnist.toml
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

seconds() {  # JOBS FOLDER: of a sweep of two runs
  local begin=$EPOCHREALTIME
  "$veldt" sweep "$recipe" --data "$data" --out "$root/$2" --over optimizer.lr=3e-3,4e-3 --set train.epochs=1 --jobs "$1" \
    --threads "$1" --quiet >/dev/null
  awk "BEGIN { print $EPOCHREALTIME - $begin }"
}

for ((i = 1; i <= repeats; ++i)); do
  alone=$(seconds 1 "alone$i") both=$(seconds 2 "both$i")
  awk "BEGIN { printf \"alone %.2f s each, side by side %.2f s: %.3f\n\", $alone / 2, $both, $both / ($alone / 2) }"
done
