#!/usr/bin/env bash
# Four machines, as network namespaces that tests/dist/network.py joins: a training over links of 1 Gbit/s and 1 ms, of
# 10 Mbit/s, and over such that lose 5 % of all packets has the bits of one process. When a link is cut at a random
# moment all ranks end within ten seconds, and --resume gives the same bits. Open MPI, started by mpirun's rsh agent.
# Usage: hosts_test.sh VELDT [MOMENTS [SEED]]      MOMENTS: of cut links, 2 unless given
#        hosts_test.sh VELDT speed RECIPE DATA     prints how fast a recipe is over each kind of link, on 1 to 4 hosts
set -euo pipefail
veldt=$(realpath "$1") kind=openmpi moments=${2:-2} prefix=v$$h
source "$(dirname "${BASH_SOURCE[0]}")/launch.sh"
network=$(realpath "$(dirname "${BASH_SOURCE[0]}")/network.py")
if [[ $moments == speed ]]; then recipe=$(realpath "$3") data=$(realpath "$4"); else RANDOM=${3:-23}; fi

skip() {
  echo "$*"
  exit 77
}
command -v ip >/dev/null || skip 'there is no iproute2'
[[ $EUID == 0 ]] || skip 'network namespaces need root'
[[ -c /dev/net/tun ]] || skip 'there is no /dev/net/tun'
unshare --net --uts sh -c 'ip link set lo up && ip tuntap add dev tun0 mode tun' 2>/dev/null || skip 'network namespaces are not allowed here'

root=$(mktemp -d)
cd "$root"
coproc NETWORK { exec python3 "$network" "$prefix" 4; }
switch=$NETWORK_PID orders=${NETWORK[1]} answers=${NETWORK[0]}
end_all() {
  local host pid
  for host in 1 2 3 4; do
    for pid in $(ip netns pids "$prefix$host" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null || true; done
  done
  exec {orders}>&-  # the switch ends
  wait "$switch" 2>/dev/null || true
  rm -rf "$root"
}
trap end_all EXIT
answered() {
  local answer
  read -r -t 20 -u "$answers" answer && [[ $answer == ok ]] || fail 'network.py does not answer'
}
tell() {  # COMMAND..
  echo "$*" >&"$orders"
  answered
}
answered

# In the place of ssh: HOST COMMAND..
cat >agent <<TEXT
#!/bin/sh
host=$prefix\${1##*.}
shift
exec ip netns exec "\$host" unshare --uts sh -c "hostname \$host; \$*"
TEXT
chmod +x agent

# Open MPI's launcher would wait for a machine that is cut off for many minutes, until its own connection times out.
on_hosts() {  # N ARGUMENTS..
  local count=$1 host list=10.77.0.1:1
  shift
  for ((host = 2; host <= count; ++host)); do list+=,10.77.0.$host:1; done
  ip netns exec "${prefix}1" unshare --uts sh -c "hostname ${prefix}1; exec \"\$@\"" - env OMPI_ALLOW_RUN_AS_ROOT=1 \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi --bind-to none --host "$list" -n "$count" \
    --mca plm_rsh_agent "$root/agent" --mca oob_tcp_if_include tun0 --mca btl tcp,self --mca btl_tcp_if_include tun0 \
    --mca oob_tcp_keepalive_time 3 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3 "$@"
}

links=('1e9 0.001 0 9000' '1e7 0.001 0 1500' '1e9 0.001 0.05 9000')
names=('1 Gbit/s, 1 ms' '10 Mbit/s, 1 ms' '1 Gbit/s, 1 ms, 5 % lost')

if [[ $moments == speed ]]; then
  seconds_of() {  # COUNT STEPS: of a run with so many steps, without its begin and end
    on_hosts "$1" "$veldt" train "$recipe" --data "$data" --threads 1 --set "train.steps=$2" --set train.evaluate_every=1000000 \
      --out "$root/speed" 2>&1 | sed -n 's/.* steps in \([0-9.]*\) s,.*/\1/p'
    rm -rf "$root/speed"
  }
  for ((i = 0; i < 3; ++i)); do
    tell shape "${links[i]}"
    steps=$((i == 0 ? 200 : 40))
    for count in 1 2 3 4; do
      [[ $i == 0 || $count != 1 ]] || continue
      awk -v name="${names[i]}" -v n="$count" -v steps="$steps" -v s="$(seconds_of "$count" "$steps")" \
        'BEGIN { printf "%-26s %d hosts: %8.2f ms a step\n", name, n, 1000 * s / steps }'
    done
  done
  exit
fi

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

# A cut link, be it that of the machine where mpirun is.
ended() {
  local host
  for host in 1 2 3 4; do [[ -z $(ip netns pids "$prefix$host") ]] || return 1; done
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
  timeout 20 tail -f --pid=$launcher -s 0.05 /dev/null || failed 'the launcher goes on'
  wait $launcher || status=$?
  wait_until 5 ended || failed 'a process is left'
  took=$(elapsed "$start")
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
