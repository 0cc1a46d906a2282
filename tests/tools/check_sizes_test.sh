#!/usr/bin/env bash
# tools/check_sizes must list the longest sources and fail on a long file or a long line.
# Usage: check_sizes_test.sh REPOSITORY
set -euo pipefail
check=$1/tools/check_sizes
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0
git init -q "$root"
mkdir -p "$root/veldt/core" "$root/docs"

expect() {  # STATUS TEXT SAID: runs the check and compares its exit status and what it says
  local status=0 out
  out=$("$check" "$root" 2>&1) || status=$?
  if [[ $status != "$1" || $out != *"$2"* ]]; then
    printf 'FAIL: %s: exit %s, expected %s with "%s"; it said:\n%s\n' "$3" "$status" "$1" "$2" "$out"
    failed=1
  fi
}

lines() { for ((i = 0; i < $1; ++i)); do echo '// line'; done; }
letters() { printf "%0.s$2" $(seq "$1"); }

lines 600 >"$root/veldt/core/long.cpp"
expect 0 '600 veldt/core/long.cpp' 'a file of 600 lines passes'
lines 601 >"$root/veldt/core/long.cpp"
expect 1 'veldt/core/long.cpp: the file has 601 lines' 'a file of 601 lines, not yet added, fails'
git -C "$root" add veldt
expect 1 'veldt/core/long.cpp: the file has 601 lines' 'a tracked file of 601 lines fails'
rm "$root/veldt/core/long.cpp"
expect 0 '' 'a file that is gone passes'

letters 110 a >"$root/veldt/core/wide.h"
expect 0 '' 'a line of 110 columns passes'
letters 110 'é' >"$root/veldt/core/wide.h"
expect 0 '' 'a line of 110 columns in 220 bytes passes'
{ echo; letters 111 a; } >"$root/veldt/core/wide.h"
expect 1 'veldt/core/wide.h:2: the line has 111 columns' 'a line of 111 columns fails'
rm "$root/veldt/core/wide.h"

lines 700 >"$root/docs/tour.cpp"
expect 0 '' 'a long file outside the source folders passes'
printf 'build/\n' >"$root/.gitignore"
mkdir "$root/veldt/build"
lines 700 >"$root/veldt/build/made.cpp"
expect 0 '' 'a file that git ignores passes'

exit $failed
