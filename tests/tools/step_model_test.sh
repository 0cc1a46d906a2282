#!/usr/bin/env bash
# tools/step_model: steps whose seconds can be worked out by hand, and bad input, which is answered with an error.
# Usage: step_model_test.sh REPOSITORY
set -euo pipefail
model=$1/tools/step_model
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0

# 100 ms of work; 1 MB known after half of it and as much at its end; 80 Mbit/s are 10 MB a second.
cat >"$root/parts.toml" <<'TOML'
[network]
compute = [[10, 0.1], [20, 0.2]]
examples = 10
buckets = [[1000000, 0.5], [1000000, 1]]
[link]
rate = 80e6
latency = 0
[processor]
message = 0
byte = 0
TOML

parts=$root/parts.toml
expect() {  # RANKS MILLISECONDS FLAGS..: of a step
  local ranks=$1 step=$2 said
  shift 2
  said=$("$model" "$parts" --ranks "$ranks" "$@" | awk 'NR == 2 { print $2 }') || said=nothing
  [[ $said == "$step" ]] || { echo "FAIL: $ranks ranks, $*: a step of $said ms, not $step"; failed=1; }
}
refuse() {  # WORDS ARGUMENTS..
  local words=$1 said status=0
  shift
  said=$("$model" "$@" 2>&1) || status=$?
  if [[ $status == 0 || $said != *"$words"* || $said == *Traceback* ]]; then
    echo "FAIL: $*: exit $status, expected an error with '$words'; it said: $said"
    failed=1
  fi
}

expect 1 100.00
# A bucket takes two phases of 0.5 MB: 100 ms. The first is under way from 50 to 150 ms, the second from there to 250.
expect 2 250.00
expect 4 350.01                              # two phases of 0.75 MB each, and 60 bytes of the loss and of whether all go on
expect 2 150.00 --set link.rate=160e6        # 50 ms each: the first is hidden whole
expect 2 450.00 --set link.share=0.5
# 0.5 MB are two rounds of four pieces, 10 ms for each of three trips: 30 ms a phase more, and 10 for each of two short ones.
expect 2 390.00 --set link.latency=0.01
expect 2 318.00 --set link.latency=0.01 --set link.rate=125e6  # phases of 30 + 32 ms
expect 2 310.00 --set link.latency=0.01 --set link.rate=8e9    # .. of 30 + 30, as the second round waits for the first
expect 2 284.00 --set processor.message=0.001  # 8 pieces a phase, 4 phases, and 2 short messages
expect 2 2050.02 --set processor.byte=1e-6     # phases of 500 ms
expect 4 400.01 --set processor.cores=2        # work takes 200 ms, the first bucket is known after 100: until 250, and 400
expect 4 460.01 --set processor.cores=2 --set processor.turn=0.005  # three trips of a phase wait for 10 ms each: 60 more, once
expect 2 2100.02 --set processor.byte=1e-6 --set processor.cores=2  # each core has 100 ms of work and 2000 of messages
expect 2 110.00 --set 'network.buckets=[[10000, 0.5], [100000, 1]]'  # the first has one phase of 10 kB, which is hidden
node=(--set node.ranks=2 --set node.latency=0)
expect 4 250.00 "${node[@]}" --set node.rate=1e12   # a phase sends 0.5 MB beyond the node
expect 4 1050.02 "${node[@]}" --set node.rate=8e6   # .. and 0.25 MB within it, at 1 MB a second
marked() {  # COUNT QUEUE: rows that say that packets may be lost; 4 ranks have 3 x 250 kB under way, 2 have 256 KB
  local said
  said=$("$model" "$parts" --ranks 1,2,4 --set "link.queue=$2" | grep -c lost) || true
  [[ $said == "$1" ]] || { echo "FAIL: with a queue of $2 bytes $said rows are marked, not $1"; failed=1; }
}
marked 0 0
marked 0 750000
marked 1 749999
marked 1 262144
marked 2 262143
parts=$root/batch.toml
sed 's/^examples = .*/batch = 40/' "$root/parts.toml" >"$parts"
expect 2 300.00  # 20 examples for each, 200 ms; the first bucket is hidden whole
refuse 'give one of them' "$parts" --set network.examples=4
refuse 'cannot read' "$root/none.toml"
refuse 'there is no link.speed' "$root/parts.toml" --set link.speed=1
refuse 'there is no section wire' "$root/parts.toml" --set wire.rate=1
refuse 'link.rate is 0' "$root/parts.toml" --set link.rate=0
refuse 'link.rate is nan' "$root/parts.toml" --set link.rate=nan
refuse 'processor.cores is True' "$root/parts.toml" --set processor.cores=true
refuse 'is no value of TOML' "$root/parts.toml" --set link.rate=fast
refuse 'is not SECTION.KEY=VALUE' "$root/parts.toml" --set link=1
refuse 'not a list of pairs' "$root/parts.toml" --set 'network.compute=[[1, 2, 3]]'
refuse 'two times for one number' "$root/parts.toml" --set 'network.compute=[[1, 2], [1, 3]]'
refuse 'a share above 1' "$root/parts.toml" --set 'network.buckets=[[1, 2]]'
refuse 'measure two points' "$root/parts.toml" --set 'network.compute=[[8, 2]]'
refuse 'not a list of numbers' "$root/parts.toml" --ranks 2,0
printf '[network\n' >"$root/bad.toml"
refuse 'cannot read' "$root/bad.toml"
printf 'network = 1\n' >"$root/bad.toml"
refuse 'there is no section network' "$root/bad.toml"
printf '[network]\nexamples = 1\n' >"$root/bad.toml"
refuse 'is missing' "$root/bad.toml"
exit "$failed"
