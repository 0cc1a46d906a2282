#!/usr/bin/env bash
# Parts of layers, and pipelines of layers, between processes that MPI's own launcher has started: the example says
# whether they learn what data parallel training does, and here that a rank keeps a part. For each MPI that was built for.
# Usage: model_parallel_test.sh EXAMPLE KIND   KIND: openmpi or mpich
set -euo pipefail
example=$1 kind=$2
table=$(mktemp)
trap 'rm -f "$table"' EXIT
export VELDT_THREADS=1
source "$(dirname "${BASH_SOURCE[0]}")/launch.sh"
launch 4 "$example" >"$table"
# MB of parameters are the last column but one.
awk '/examples/ { whole = $(NF - 1) }
     /layers/ { if ($(NF - 1) > 0.26 * whole) { print "a rank of four keeps too much: " $0; bad = 1 } ++parts }
     END { if (parts != 4) { print "four ways were to be measured, not " parts; bad = 1 }; exit bad }' "$table" ||
  { cat "$table" >&2; exit 1; }
