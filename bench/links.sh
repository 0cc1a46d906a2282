#!/usr/bin/env bash
# How long a step takes on ranks with a machine each, over links as slow and far as wanted (tests/dist/hosts.sh), from a run's timeline:
# the median step of rank 0, and the medians of its sums by their bytes. What tools/step_model predicts, and is given. Needs root.
# Usage: bench/links.sh VELDT 'RANKS..' 'RATE DELAY MTU [QUEUE]' STEPS RECIPE [FLAGS..]   as in '2 4 8' '1e8 0.001 9000'; rate 0: no limit
#        bench/links.sh VELDT alone COPIES STEPS RECIPE [FLAGS..]      so many single processes side by side, without messages
set -euo pipefail
veldt=$(realpath "$1") kind=openmpi counts=$2 link=$3 steps=$4 recipe=$(realpath "$5")
shift 5
source "$(dirname "${BASH_SOURCE[0]}")/../tests/dist/launch.sh"
source "$(dirname "${BASH_SOURCE[0]}")/../tests/dist/hosts.sh"
flags=(--threads 1 --set train.evaluate_every=1000000 --quiet "$@")

if [[ $counts == alone ]]; then
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
  for more in 20 $((steps + 20)); do  # their difference has no begin and end
    for ((i = 0; i < link; ++i)); do
      "$veldt" train "$recipe" "${flags[@]}" --set "train.steps=$more" --json --out "$root/$more$i" >"$root/$more$i.json" 2>/dev/null &
    done
    wait
  done
  for ((i = 0; i < link; ++i)); do
    python3 -c 'import json, sys; a, b = (json.load(open(f))["seconds"] for f in sys.argv[1:3]); print((b - a) / int(sys.argv[3]))' \
      "$root/20$i.json" "$root/$((steps + 20))$i.json" "$steps"
  done | awk '{ sum += $1 } END { printf "alone, %d side by side: %.2f ms a step\n", NR, 1000 * sum / NR }'
  exit
fi

begin_hosts "$(tr ' ' '\n' <<<"$counts" | sort -n | tail -1)"
read -r rate delay mtu queue <<<"$link"
tell shape "$rate" "$delay" 0 "$mtu" $queue
for count in $counts; do
  on_hosts "$count" "$veldt" train "$recipe" "${flags[@]}" --set "train.steps=$steps" --profile --out "run$count" >/dev/null 2>log ||
    { cat log >&2; fail "no training on $count hosts"; }
  python3 - "run$count/trace.json" "$count" "$link" <<'END'
import json, statistics, sys
events = [e for e in json.load(open(sys.argv[1])) if e["ph"] == "X" and e["pid"] == 0]
steps = [e for e in events if e["tid"] == 0][2:]  # the first ones ask for memory
sums, begins, at = {}, {}, 0
for e in sorted((e for e in events if e["tid"] == 2 and e["name"] == "sum"), key=lambda e: e["ts"]):
    while at < len(steps) and steps[at]["ts"] + steps[at]["dur"] <= e["ts"]:
        at += 1
    if at < len(steps) and e["ts"] >= steps[at]["ts"]:
        sums.setdefault(e["args"]["bytes"], []).append(e["dur"] / 1e3)
        begins.setdefault(e["args"]["bytes"], []).append((e["ts"] - steps[at]["ts"]) / 1e3)
middle = statistics.median
print(f"{sys.argv[2]} ranks, {sys.argv[3]}: {middle(e['dur'] for e in steps) / 1e3:.2f} ms a step; sums:",
      "; ".join(f"{size} bytes {middle(sums[size]):.2f} ms, begun after {middle(begins[size]):.2f}" for size in sums), flush=True)
END
done
