# Machines on this machine, for the scripts that need some: network namespaces that network.py joins, and Open MPI started in them by
# mpirun's rsh agent. A script sources launch.sh and this file, and calls begin_hosts. It may set `prefix`, of the namespaces' names, before.

: "${prefix:=v$$h}"
network=$(realpath "$(dirname "${BASH_SOURCE[0]}")/network.py")

skip() {
  echo "$*"
  exit 77
}
# Afterwards `root`, a folder that goes when the script ends, is the working directory.
begin_hosts() {  # N
  host_count=$1
  command -v ip >/dev/null || skip 'there is no iproute2'
  [[ $EUID == 0 ]] || skip 'network namespaces need root'
  [[ -c /dev/net/tun ]] || skip 'there is no /dev/net/tun'
  unshare --net --uts sh -c 'ip link set lo up && ip tuntap add dev tun0 mode tun' 2>/dev/null || skip 'network namespaces are not allowed here'
  root=$(mktemp -d)
  cd "$root"
  coproc NETWORK { exec python3 "$network" "$prefix" "$host_count"; }
  switch=$NETWORK_PID orders=${NETWORK[1]} answers=${NETWORK[0]}
  trap end_hosts EXIT
  answered
  # In the place of ssh: HOST COMMAND..
  cat >agent <<TEXT
#!/bin/sh
host=$prefix\${1##*.}
shift
exec ip netns exec "\$host" unshare --uts sh -c "hostname \$host; \$*"
TEXT
  chmod +x agent
}
end_processes() {  # all that are left on the hosts
  local host pid
  for ((host = 1; host <= host_count; ++host)); do
    for pid in $(ip netns pids "$prefix$host" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null || true; done
  done
}
end_hosts() {
  end_processes
  exec {orders}>&-  # the switch ends
  wait "$switch" 2>/dev/null || true
  rm -rf "$root"
}
answered() {
  local answer
  read -r -t 20 -u "$answers" answer && [[ $answer == ok ]] || fail 'network.py does not answer'
}
tell() {  # COMMAND..: of network.py
  echo "$*" >&"$orders"
  answered
}

# Open MPI's launcher would wait for a machine that is cut off for many minutes, until its own connection times out: where
# nothing is under way on it by the flags below, else by the hosts' tcp_retries2 (network.py).
on_hosts() {  # N ARGUMENTS..
  local count=$1 host list=10.77.0.1:1
  shift
  for ((host = 2; host <= count; ++host)); do list+=,10.77.0.$host:1; done
  ip netns exec "${prefix}1" unshare --uts sh -c "hostname ${prefix}1; exec \"\$@\"" - env OMPI_ALLOW_RUN_AS_ROOT=1 \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi --bind-to none --host "$list" -n "$count" \
    --mca plm_rsh_agent "$root/agent" --mca oob_tcp_if_include tun0 --mca btl tcp,self --mca btl_tcp_if_include tun0 \
    --mca oob_tcp_keepalive_time 3 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3 "$@"
}
