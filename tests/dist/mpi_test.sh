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

# Open MPI calls it a failure that they do not come together to end.
launch 2 "${veldt%/*}/test_dist" --gtest_filter='UnderMpi.*' --gtest_brief=1 >lengths.log 2>&1 || true
if ! grep -q PASSED lengths.log || grep -qE 'FAILED|SKIPPED|signal (6|11)|Aborted|Segmentation' lengths.log; then
  cat lengths.log >&2
  fail 'ranks that call different functions do not end well'
fi

# What cannot be shared out is refused before there is a folder.
! launch 2 "$veldt" train xor.toml --data . --exact 5 --threads 1 --out none >none.log 2>&1 || fail 'a batch of 4 has 5 parts'
expect none.log 'a batch of 4 examples cannot have 5 parts'
[[ ! -e none ]] || fail 'a folder is left'

# Otherwise the losses of one, to the last digits.
"$veldt" train xor.toml --data . --threads 1 --quiet --json --out plain >plain.json
for count in 2 3 4; do
  launch $count "$veldt" train xor.toml --data . --threads 1 --quiet --json --out "ranks$count" >ranks.json
  [[ $(wc -l <ranks.json) == 1 ]] || fail "not one process alone prints"
  same_losses plain "ranks$count" || fail "$count processes have other losses than one"
done

# With the optimizer's state shared out: the same files, also after a resume with another number.
launch 3 "$veldt" train xor.toml --data . --threads 1 --quiet --share-optimizer --out shared >/dev/null
for file in model optim; do
  cmp {ranks3,shared}/checkpoints/ckpt-00000100/$file.safetensors || fail "a shared optimizer has written another $file"
done
launch 2 "$veldt" train xor.toml --data . --exact 4 --threads 1 --quiet --share-optimizer --every 0.001s \
  --until 0.5 --set train.evaluate_every=50 --out parts >/dev/null
launch 4 "$veldt" train xor.toml --data . --exact 4 --threads 1 --quiet --share-optimizer --resume \
  --set train.evaluate_every=50 --out parts >/dev/null
same_weights one parts || fail 'a shared optimizer that was resumed has other weights'

# Batch norms over the examples of all processes: the losses of one, where each has one example alone.
sed 's/"Linear(8)", /"Linear(8)", "BatchNorm1d()", /' xor.toml >norm.toml
"$veldt" train norm.toml --data . --threads 1 --quiet --set optimizer.kind=sgd --set train.steps=30 --out norm1 >/dev/null
for count in 2 4; do
  launch $count "$veldt" train norm.toml --data . --threads 1 --quiet --set optimizer.kind=sgd --set train.steps=30 \
    --sync-batch-norm --out "norm$count" >/dev/null
  same_losses norm1 "norm$count" || fail "batch norms of $count processes see other examples than one's"
done

# A fit: a picture of a disc on a slope, as text, which a pixel table is too.
python3 - >disc.csv <<'END'
print("x,y,r,g,b")
for y in range(24):
    for x in range(24):
        inside = (x - 11) ** 2 + (y - 9) ** 2 < 36
        print(f"{x},{y}," + ",".join(str(60 if inside else 5 * (x + y) + 9 * c) for c in range(3)))
END
"$veldt" fit disc.csv -o one.safetensors --steps 20 --exact 4 --threads 1 --quiet >/dev/null
for count in 1 2 3 4; do
  launch $count "$veldt" fit disc.csv -o "field$count.safetensors" --steps 20 --exact 4 --threads 1 --quiet >/dev/null
  cmp <(tail -c 60000 one.safetensors) <(tail -c 60000 "field$count.safetensors") ||
    fail "$count processes have fitted another field than one"
done
# The same picture, of which each process has some rows.
python3 - >disc.ppm <<'END'
rows = [line.split(",") for line in open("disc.csv").read().split()[1:]]
print("P3 24 24 255", *(" ".join(row[2:]) for row in rows), sep="\n")
END
for count in 2 3; do
  launch $count "$veldt" fit disc.ppm -o parts.safetensors --in-parts --steps 20 --exact 4 --threads 1 --quiet --json \
    --explain >parts.json
  expect parts.json "\"value\":\"$((24 / count)) of 24\""
  cmp <(tail -c 60000 one.safetensors) <(tail -c 60000 parts.safetensors) ||
    fail "$count processes with parts of a picture have fitted another field than one"
done
"$veldt" fit disc.ppm -o alone.safetensors --steps 20 --exact 4 --threads 1 --quiet --json >alone.json
python3 - <<'END'
import json
alone, parts = (json.load(open(name)) for name in ("alone.json", "parts.json"))
assert all(alone[key] == parts[key] for key in ("loss", "psnr", "ssim")), (alone, parts)
END
if launch 2 "$veldt" fit disc.csv -o parts.safetensors --in-parts --quiet 2>err; then fail 'a table is shared'; fi
expect err '--in-parts cannot be used with disc.csv'
launch 2 "$veldt" fit disc.csv -o stopped.safetensors --steps 20 --exact 4 --threads 1 --quiet --json \
  --checkpoint run --every 0.001s >fit.json
[[ $(wc -l <fit.json) == 1 ]] || fail 'not one process alone says what it has fitted'
launch 3 "$veldt" fit disc.csv -o resumed.safetensors --steps 30 --exact 4 --threads 1 \
  --checkpoint run --resume >/dev/null 2>err
expect err 'checkpoints are in run; if a process is lost, launch again: '
"$veldt" fit disc.csv -o whole.safetensors --steps 20 --exact 4 --threads 1 --quiet --checkpoint run1 >/dev/null
"$veldt" fit disc.csv -o whole.safetensors --steps 30 --exact 4 --threads 1 --quiet --checkpoint run1 --resume >/dev/null
cmp <(tail -c 60000 whole.safetensors) <(tail -c 60000 resumed.safetensors) ||
  fail 'a resumed fit has other weights'
launch 3 "$veldt" fit disc.csv -o timed.safetensors --time 1s --threads 1 --quiet --json >fit.json
expect fit.json '"stopped_by":"time"'

# A drawing has the bytes of one process.
for size in 700x900 20; do
  for name in drawn.png drawn.jpg; do
    "$veldt" render one.safetensors -o "one_$name" --size $size --quiet >/dev/null
    for count in 2 4; do
      launch $count "$veldt" render one.safetensors -o "$name" --size $size --quiet >/dev/null
      cmp "one_$name" "$name" || fail "$count processes draw another $name of $size than one"
    done
  done
done

# What differs is named, and nothing is trained.
if launch 2 bash -c "exec '$veldt' train xor.toml --data . --out other --threads \$((1 + \${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}))" 2>err; then
  fail 'processes with different numbers of threads train'
fi
expect err "the processes of this run differ in '--threads'"
[[ ! -e other ]] || fail 'a run that was refused has left a folder'

if launch 2 bash -c "exec '$veldt' train xor.toml --data . --out other --set train.steps=\$((20 + \${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}))" 2>err; then
  fail 'processes with different numbers of steps train'
fi
expect err "the processes of this run differ in 'train.steps'"

python3 -c "print('x,y,r,g,b'); print('0,0,1,2,3')" >other.csv
if launch 2 bash -c "input=disc.csv; [[ \${OMPI_COMM_WORLD_RANK:-\$PMI_RANK} == 0 ]] || input=other.csv
    exec '$veldt' fit \$input -o other.safetensors --model siren --steps 5 --threads 1" 2>err >/dev/null; then
  fail 'processes with different pictures fit'
fi
expect err "the processes of this run differ in 'plan."
[[ ! -e other.safetensors ]] || fail 'a fit that was refused has left a field'
if launch 2 "$veldt" fit disc.csv other.csv -o models --quiet 2>err; then fail 'two processes fit several files'; fi
expect err 'a fit of several files is for one process'

# Verbs for one process.
if launch 2 "$veldt" info one/model.safetensors 2>err >/dev/null; then fail 'info runs twice'; fi
expect err "'veldt info' is for one process"

# A launcher whose MPI this build does not have: no training four times.
mkdir -p bare/bin
cp "$veldt" bare/bin/veldt
if launch 2 bare/bin/veldt train xor.toml --data . --out none --quiet 2>err; then fail 'it trains without MPI'; fi
expect err 'beside Veldt: it was built without'
[[ ! -e none ]] || fail 'a run without MPI has left a folder'
