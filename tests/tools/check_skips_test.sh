#!/usr/bin/env bash
# tools/check_skips must let pass what tests/skips.txt expects, and list every other skip with its reason.
# Usage: check_skips_test.sh REPOSITORY
set -euo pipefail
check=$1/tools/check_skips
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0
mkdir -p "$root/tests" "$root/build/release/Testing/Temporary"
log=$root/build/release.test.log
why=$root/build/release/Testing/Temporary/LastTest.log

expect() {  # STATUS TEXT SAID: runs the check and compares its exit status and what it says
  local status=0 out
  out=$("$check" --root "$root" release 2>&1) || status=$?
  if [[ $status != "$1" || $out != *"$2"* ]]; then
    printf 'FAIL: %s: exit %s, expected %s with "%s"; it said:\n%s\n' "$3" "$status" "$1" "$2" "$out"
    failed=1
  fi
}
ran() {  # NAME RESULT LINE...: a test, as ctest writes of it in both logs
  printf '  1/2 Test  #12: %s ........%s   0.02 sec\n' "$1" "$2" >>"$log"
  printf '1/2 Testing: %s\n1/2 Test: %s\nCommand: "test"\nOutput:\n-----\n' "$1" "$1" >>"$why"
  printf '%s\n' "${@:3}" '<end of output>' 'Test time =   0.02 sec' '-----' 'Test Passed.' '' >>"$why"
}
forget() { rm -f "$log" "$why"; }

printf '# PLACE: REASON\n\ntests/io/[a-z]+_test\\.cpp: there is no disk\ntools/(a|b): there is no .*\n' >"$root/tests/skips.txt"
expect 2 'there is no build/release.test.log' 'without logs it cannot tell'

ran io/Png.IsRead '   Passed' '[ RUN      ] Png.IsRead'
expect 0 '0 skips' 'tests that run pass'
ran io/Disk.IsFull '***Skipped' '[ RUN      ] Disk.IsFull' '/home/tests/veldt/tests/io/file_test.cpp:12: Skipped' \
  'there is no disk' '[  SKIPPED ] Disk.IsFull (0 ms)'
ran tools/a '***Skipped' 'begins' 'skipped: there is no gcc'
ran tools/b '***Skipped' 'there is no clang'
expect 0 '3 skips, all of them expected' 'skips for reasons that are expected pass'

ran io/Disk.IsSlow '***Skipped' '/src/tests/io/file_test.cpp:19: Skipped' 'there is no disk, or no time'
expect 1 '  io/Disk.IsSlow: tests/io/file_test.cpp: there is no disk, or no time' 'another reason fails'
forget
ran data/Disk.IsFull '***Skipped' '/src/tests/data/file_test.cpp:12: Skipped' 'there is no disk'
expect 1 '  data/Disk.IsFull: tests/data/file_test.cpp: there is no disk' 'the reason at another place fails'
forget
ran io/Disk.IsSlow '***Skipped' '/src/tests/io/file_test.cpp:19: Skipped' '' 'there is no disk'
expect 1 'tests/io/file_test.cpp: no reason is given' 'no reason fails'
forget
ran tools/c '***Skipped' 'skipped: there is no gcc'
expect 1 '  tools/c: tools/c: there is no gcc' 'a script that is not in the list fails'
forget
# A shard, or a whole program, passes where tests of it are skipped.
ran io/unit.3 '   Passed' '/src/tests/io/a_test.cpp:1: Skipped' 'there is no disk' '/src/tests/io/b_test.cpp:2: Skipped' 'it rains'
expect 1 '  io/unit.3: tests/io/b_test.cpp: it rains' 'a skip within a shard fails'

forget
ran io/Png.IsRead '   Passed'
printf ' 1/2 Test  #13: tools/a ........***Skipped   0.02 sec\n' >>"$log"
expect 1 '  tools/a: the log of ctest is of another run' 'a log of another run fails'
forget
ran io/Png.IsRead '   Passed'
printf 'tools/d there is no disk\n' >>"$root/tests/skips.txt"
expect 1 'tests/skips.txt:5: is not PLACE: REASON' 'a line that is none fails'

exit $failed
