#!/usr/bin/env bash
# Four machines, as network namespaces that tests/dist/network.py joins: a training over links of 1 Gbit/s and 1 ms, of
# 10 Mbit/s, and over such that lose 5 % of all packets has the bits of one process. When a link is cut at a random
# moment all ranks end within ten seconds, and --resume gives the same bits. Open MPI, started by mpirun's rsh agent.
# Usage: hosts_test.sh VELDT [MOMENTS [SEED]]      MOMENTS: of cut links, 2 unless given
set -euo pipefail
veldt=$(realpath "$1") kind=openmpi moments=${2:-2} RANDOM=${3:-23}
source "$(dirname "${BASH_SOURCE[0]}")/launch.sh"
source "$(dirname "${BASH_SOURCE[0]}")/hosts.sh"
begin_hosts 4

links=('1e9 0.001 0 9000' '1e7 0.001 0 1500' '1e9 0.001 0.05 9000')
names=('1 Gbit/s, 1 ms' '10 Mbit/s, 1 ms' '1 Gbit/s, 1 ms, 5 % lost')

write_xor_recipe 300
"$veldt" train xor.toml --data . --exact 4 --threads 1 --quiet --out whole >/dev/null
for ((i = 0; i < 3; ++i)); do
  tell shape "${links[i]}"
  start=$EPOCHREALTIME
  on_hosts 4 "$veldt" train "$root/xor.toml" --data "$root" --exact 4 --threads 1 --quiet --out "out$i" >log 2>&1 ||
    { cat log >&2; fail "no training over ${names[i]}"; }
  cmp <(tensors whole/model.safetensors) <(tensors "out$i/model.safetensors") || fail "other weights over ${names[i]}"
  printf '%s: the bits of one process, in %.1f s\n' "${names[i]}" "$(elapsed "$start")"
done

# Messages for which a slow link needs longer than the five seconds after which a rank counts as lost.
sed 's/^layers = .*/layers = ["Linear(1000)", "Tanh()", "Linear(1000)", "Tanh()", "Linear(2)"]/' xor.toml >wide.toml
tell shape "${links[1]}"
"$veldt" train wide.toml --data . --set train.steps=1 --exact 4 --threads 1 --quiet --out wide >/dev/null
start=$EPOCHREALTIME
on_hosts 4 "$veldt" train "$root/wide.toml" --data "$root" --set train.steps=1 --exact 4 --threads 1 --quiet \
  --out slow >log 2>&1 || { cat log >&2; fail 'a large network is not trained over a slow link'; }
cmp <(tensors wide/model.safetensors) <(tensors slow/model.safetensors) || fail 'a large network has other weights'
printf '4 MB of weights over %s: the bits of one process, in %.1f s\n' "${names[1]}" "$(elapsed "$start")"

# A cut link, be it that of the machine where mpirun is. Open MPI's own processes may take longer than the ranks.
ended() {
  local host pid
  for host in 1 2 3 4; do
    for pid in $(ip netns pids "$prefix$host"); do [[ $(cat "/proc/$pid/comm" 2>/dev/null) != veldt ]] || return 1; done
  done
}
failed() {
  cat log >&2
  fail "the link of rank $((host - 1)) was cut after $moment s: $*"
}
write_xor_recipe 2000
"$veldt" train xor.toml --data . --exact 4 --threads 1 --quiet --out long >/dev/null
tell shape "${links[0]}"
for ((done = 0; done < moments; ++done)); do
  host=$((1 + RANDOM % 4)) moment=$((RANDOM % 4)).$((RANDOM % 10)) status=0
  rm -rf cut log
  on_hosts 4 "$veldt" train "$root/xor.toml" --data "$root" --exact 4 --threads 1 --every 200ms --out cut >log 2>&1 &
  launcher=$!
  wait_until 20 grep -qs 'launch again' log || failed 'the run does not begin'
  sleep "$moment"
  tell cut "$host"
  start=$EPOCHREALTIME
  wait_until 15 ended || failed 'a rank goes on'
  took=$(elapsed "$start")
  timeout 20 tail -f --pid=$launcher -s 0.05 /dev/null || failed 'the launcher goes on'
  wait $launcher || status=$?
  end_processes
  tell mend
  [[ $status != 0 ]] || failed 'the run ends well'
  less "$took" 10 || failed "all have ended after $took s only"
  if [[ $host == 1 ]]; then  # what the others say cannot reach the launcher
    grep -qE "is cut off from|on $prefix[2-4] \(process [0-9]+\) is lost|lost communication" log || failed 'it does not say why'
  else
    grep -qE "rank $((host - 1)) on $prefix$host \(process [0-9]+\) is lost|10\.77\.0\.$host\b" log || failed 'no rank is named'
  fi
  grep -qE 'the last checkpoint is cut/checkpoints/ckpt-|no checkpoint was saved' log || failed 'what was saved is not said'
  launch $((1 + RANDOM % 4)) "$veldt" train xor.toml --data . --exact 4 --threads 1 --quiet --resume --out cut >log 2>&1 ||
    failed 'it does not go on'
  [[ -z $(find cut -name '*.tmp*') ]] || failed 'something half-written is left'
  cmp <(tensors long/model.safetensors) <(tensors cut/model.safetensors) || failed 'the resumed run has other weights'
  printf 'the link of rank %d was cut after %s s: all ended in %.1f s\n' $((host - 1)) "$moment" "$took"
done
