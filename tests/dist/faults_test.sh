#!/usr/bin/env bash
# A rank of a training is killed (kill -9) or stopped (SIGSTOP) at a random moment: all processes end within ten
# seconds, the rank is named, and so is what was saved; nothing half-written is left, and --resume gives the bits of
# a run that was never disturbed.
# Usage: faults_test.sh VELDT KIND [MOMENTS [SEED]]   KIND: openmpi or mpich; MOMENTS: of each fault, 3 unless given; from 20 on
#   also one that hangs before MPI has begun, which takes a minute
set -euo pipefail
veldt=$(realpath "$1") kind=$2 moments=${3:-3}
RANDOM=${4:-23}
root=$(mktemp -d)
source "$(dirname "${BASH_SOURCE[0]}")/launch.sh"
launcher=
# Whether a process is one of this test's: the number of one that has ended may soon be that of a stranger.
is_ours() { [[ $(readlink "/proc/$1/cwd") == "$root" ]]; }
end_all() {
  local pid
  for pid in $launcher $(cat rank.* 2>/dev/null); do ! is_ours "$pid" || kill -KILL "$pid" 2>/dev/null || true; done
}
trap 'end_all; rm -rf "$root"' EXIT
cd "$root"

write_xor_recipe 6000
# Begins a run; returns when it trains. Each rank notes its process before it becomes Veldt.
disturbed() {  # COUNT OUT
  rm -f rank.* log
  launch "$1" bash -c 'echo $$ >rank.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec "$@"' - "$veldt" train xor.toml \
    --data . --exact 4 --threads 1 --every 100ms --out "$2" >log 2>&1 &
  launcher=$!
  wait_until 20 grep -qs 'launch again' log || { cat log >&2; fail 'the run does not begin'; }
}

disturbed 3 whole
start=$EPOCHREALTIME
wait "$launcher"
seconds=$(elapsed "$start")

ended() {  # whether no rank's process is there
  local pid
  for pid in $(cat rank.*); do ! is_ours "$pid" || return 1; done
}

failed() {
  cat log >&2
  fail "SIG$signal of rank $rank of $count at $moment s: $*"
}

trial() {  # SIGNAL COUNT RANK MOMENT: 1 if the run ended before the moment
  local signal=$1 count=$2 rank=$3 moment=$4 pid status=0 faulted named
  rm -rf out
  disturbed "$count" out
  pid=$(cat "rank.$rank")
  sleep "$moment"
  { is_ours "$pid" && kill "-$signal" "$pid" 2>/dev/null; } || { wait "$launcher" || true; return 1; }
  faulted=$EPOCHREALTIME
  timeout 20 tail -f --pid="$launcher" -s 0.05 /dev/null || failed 'the launcher goes on'
  wait "$launcher" || status=$?
  launcher=
  wait_until 5 ended || failed 'a process is left'
  took=$(elapsed "$faulted")
  if [[ $status == 0 ]] || grep -q '^out/model.safetensors: ' log; then return 1; fi
  less "$took" 10 || failed "all have ended after $took s only"
  if [[ $signal == STOP ]]; then
    expect log "rank $rank on $(hostname) (process $pid) is lost"
    expect log 'nothing has been heard of it'
    [[ $status == 10 ]] || failed "the exit status is $status"
    expect_what_was_saved
  elif [[ $kind == openmpi ]]; then
    expect log "process rank $rank with PID"  # what Open MPI says
    expect log '(Killed)'
    expect_what_was_saved
  else  # MPICH kills the others at once, so nothing but what was said before can help
    expect log "RUNNING AT $(hostname)"
    expect log 'Killed (signal 9)'
    expect log 'checkpoints are in out/checkpoints; if a process is lost, launch again: '
  fi
  if [[ -n $(find out -regex '.*/ckpt-[0-9]+') ]]; then
    "$veldt" info out/checkpoints --verify >info 2>&1 || { cat info >&2; fail 'a checkpoint is damaged'; }
  fi
  launch $((1 + RANDOM % 4)) "$veldt" train xor.toml --data . --exact 4 --threads 1 --every 100ms --quiet --resume \
    --out out >resumed 2>&1 || { cat resumed >&2; fail 'it does not go on'; }
  named=$(find . -name '*.tmp*')
  [[ -z $named ]] || fail "half-written: $named"
  cmp <(tensors whole/model.safetensors) <(tensors out/model.safetensors) || fail 'the resumed run has other weights'
  printf 'SIG%s of rank %d of %d after %.2f s: all ended in %.1f s\n' "$signal" "$rank" "$count" "$moment" "$took"
}

# What was saved last is named, and there; a rank may not yet know of the newest one.
expect_what_was_saved() {
  local told
  if grep -q 'no checkpoint was saved' log; then
    [[ $(find out -regex '.*/ckpt-[0-9]+' | wc -l) -le 1 ]] || failed 'there are checkpoints'
  else
    expect log '; launch again: '
    told=$(grep -o 'the last checkpoint is out/checkpoints/ckpt-[0-9]*' log | head -n 1)
    [[ -n $told && -d ${told##* } ]] || failed 'it does not say what was saved last'
  fi
}

for signal in KILL STOP; do
  for ((done = 0, tries = 0; done < moments; ++tries)); do
    ((tries < 10 * moments)) || fail 'the runs end before they are disturbed'
    count=$((3 + RANDOM % 2))
    moment=$(awk -v t="$seconds" -v r=$RANDOM 'BEGIN { print (t < 4 ? t : 4) * 0.9 * r / 32768 }')
    if trial $signal $count $((RANDOM % count)) "$moment"; then done=$((done + 1)); fi
  done
done

# A process that hangs before MPI has begun, which waits for all without end.
if ((moments >= 20)); then
  rm -f rank.* log
  launch 3 bash -c 'rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; echo $$ >rank.$rank; [[ $rank != 1 ]] || kill -STOP $$; exec "$@"' \
    - "$veldt" train xor.toml --data . --out early >log 2>&1 &
  launcher=$!
  timeout 80 tail -f --pid="$launcher" -s 0.05 /dev/null || { cat log >&2; fail 'MPI does not begin, and nobody ends'; }
  wait "$launcher" && fail 'it begins without one of the processes'
  launcher=
  wait_until 5 ended || fail 'a process is left that hung at the start'
  expect log 'the processes do not come together'
  echo 'a process hung at the start: all ended'
fi
