#!/usr/bin/env bash
# tools/fuzz must run every target, or one, keep what is found, and say how to see it again. The program is a
# stand-in, so no clang is needed.
# Usage: fuzz_test.sh REPOSITORY
# shellcheck disable=SC2016  # the stand-in expands its own variables
set -euo pipefail
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bin"
failed=0

expect() {  # SAID STATUS TEXT COMMAND...: runs it and compares its exit status and what it says
  local said=$1 status=$2 text=$3 got=0
  shift 3
  out=$("$@" 2>&1) || got=$?
  if [[ $got != "$status" || $out != *"$text"* ]]; then
    printf 'FAIL: %s: exit %s, expected %s with "%s"; it said:\n%s\n' "$said" "$got" "$status" "$text" "$out"
    failed=1
  fi
}

expect 'no program' 2 'does not start' "$1/tools/fuzz" "$root" 5
printf '#!/bin/sh\n' >"$root/bin/veldt_fuzz"
chmod +x "$root/bin/veldt_fuzz"
expect 'a program that names no target' 2 'does not start' "$1/tools/fuzz" "$root" 5

# Two targets: bad finds something, good does not.
cat >"$root/bin/veldt_fuzz" <<'PROGRAM'
#!/usr/bin/env bash
(($#)) || { printf 'good\nbad\n'; exit; }
[[ $2 != --seeds ]] || { mkdir -p "$3"; echo seed >"$3/seed_0"; echo '"word"' >"$3.dict"; exit; }
for flag in "${@:2}"; do
  case $flag in
    -max_total_time=*) seconds=${flag#*=} ;;
    -artifact_prefix=*) prefix=${flag#*=} ;;
    -dict=*) [[ -s ${flag#*=} ]] || exit 3 ;;
  esac
done
printf '#3\tINITED cov: 12 ft: 13\n#900\tDONE cov: 345 ft: 400 corp: 2/9b\n'
if [[ $1 == bad ]]; then
  echo x >"${prefix}crash-0123abcd"
  printf '==1==ERROR: AddressSanitizer: heap-buffer-overflow\nartifact_prefix; Test unit written to %scrash-0123abcd\n' "$prefix"
  exit 77
fi
printf 'stat::number_of_executed_units: 9%s\nstat::average_exec_per_sec:     7\n' "$seconds"
PROGRAM
chmod +x "$root/bin/veldt_fuzz"

expect 'one target' 0 ' 920         7     345  nothing found' "$1/tools/fuzz" "$root" good
expect 'its seconds' 0 ' 933 ' "$1/tools/fuzz" "$root" good 33
expect 'seconds of all' 1 ' 933 ' "$1/tools/fuzz" "$root" 33
expect 'all targets' 1 "reproduce: $root/bin/veldt_fuzz bad $root/found/bad/crash-0123abcd" "$1/tools/fuzz" "$root"
expect 'what was found' 1 'ERROR: AddressSanitizer: heap-buffer-overflow' "$1/tools/fuzz" "$root" bad
[[ -s $root/found/bad/crash-0123abcd ]] || { echo 'FAIL: what was found is not kept'; failed=1; }
expect 'an unknown target lists all' 2 'there are good bad' "$1/tools/fuzz" "$root" goood
expect 'no seconds' 2 '"0" is not a number of seconds' "$1/tools/fuzz" "$root" good 0
expect 'its words, with nothing built' 0 '' "$1/tools/fuzz" --parse-only png 600
expect 'an unknown target, with nothing built' 2 ' png jpeg ' "$1/tools/fuzz" --parse-only nosuch
expect 'no seconds, with nothing built' 2 '"abc" is not a number of seconds' "$1/tools/fuzz" --parse-only png abc
expect 'too many words' 2 'is not a number of seconds' "$1/tools/fuzz" "$root" good 3 4

exit $failed
