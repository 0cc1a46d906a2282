#!/usr/bin/env bash
# The command as MPI's own launcher starts it: one to four processes give the same bits and the same losses, a build
# without MPI says so, and what all of them must have alike is compared. For each MPI that was built for.
# Usage: mpi_test.sh VELDT KIND   KIND: openmpi or mpich
set -euo pipefail
veldt=$1 kind=$2
source "$(dirname "${BASH_SOURCE[0]}")/launch.sh"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cd "$root"

write_xor_recipe 100

# Exact: the bits of one process, and of each number of them.
"$veldt" train xor.toml --data . --exact 4 --threads 1 --quiet --out one >/dev/null
for count in 1 2 3 4; do
  launch $count "$veldt" train xor.toml --data . --exact 4 --threads 1 --quiet --out "exact$count" >/dev/null
  same_weights one "exact$count" ||
    fail "$count processes have other weights than one"
done

# Otherwise the losses of one, to the last digits.
"$veldt" train xor.toml --data . --threads 1 --quiet --json --out plain >plain.json
for count in 2 3 4; do
  launch $count "$veldt" train xor.toml --data . --threads 1 --quiet --json --out "ranks$count" >ranks.json
  [[ $(wc -l <ranks.json) == 1 ]] || fail "not one process alone prints"
  same_losses plain "ranks$count" || fail "$count processes have other losses than one"
done

# What differs is named, and nothing is trained.
if launch 2 bash -c "exec '$veldt' train xor.toml --data . --out other --threads \$((1 + \${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}))" 2>err; then
  fail 'processes with different numbers of threads train'
fi
expect err "the processes of this training differ in 'threads'"
[[ ! -e other ]] || fail 'a run that was refused has left a folder'

# Verbs for one process.
if launch 2 "$veldt" info one/model.safetensors 2>err >/dev/null; then fail 'info runs twice'; fi
expect err "'veldt info' is for one process"

# A launcher whose MPI this build does not have: no training four times.
mkdir -p bare/bin
cp "$veldt" bare/bin/veldt
if launch 2 bare/bin/veldt train xor.toml --data . --out none --quiet 2>err; then fail 'it trains without MPI'; fi
expect err 'beside Veldt: it was built without'
[[ ! -e none ]] || fail 'a run without MPI has left a folder'
