#!/usr/bin/env bash
# tools/check_sources must fail on a source that does not begin by what it is for, and on a header without tests.
# Usage: check_sources_test.sh REPOSITORY
set -euo pipefail
check=$1/tools/check_sources
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0
git init -q "$root"
mkdir -p "$root/veldt/core" "$root/tests/core"

expect() {  # STATUS TEXT SAID: runs the check and compares its exit status and what it says
  local status=0 out
  out=$("$check" "$root" 2>&1) || status=$?
  if [[ $status != "$1" || $out != *"$2"* ]]; then
    printf 'FAIL: %s: exit %s, expected %s with "%s"; it said:\n%s\n' "$3" "$status" "$1" "$2" "$out"
    failed=1
  fi
}

echo '// Tests of one.' >"$root/tests/core/one_test.cpp"
expect 0 '' 'a source with a first line passes'
echo '#include <map>' >"$root/veldt/core/one.cpp"
expect 1 'veldt/core/one.cpp: its first line does not say' 'a source that begins with an include fails'
printf '//\n// One.\n' >"$root/veldt/core/one.cpp"
expect 1 'veldt/core/one.cpp: its first line does not say' 'an empty comment fails'
echo '// One.' >"$root/veldt/core/one.cpp"

printf '// One.\n#pragma once\n' >"$root/veldt/core/one.h"
expect 1 'veldt/core/one.h: it does not name its tests' 'a header without tests fails'
printf '// One.\n// Tests: tests/core/two_test.cpp\n#pragma once\n' >"$root/veldt/core/one.h"
expect 1 'its tests "tests/core/two_test.cpp" are not there' 'tests that are not there fail'
printf '// One.\n// Tests: tests/core/one_test.cpp,\n// tests/core/two_test.cpp\n#pragma once\n' >"$root/veldt/core/one.h"
expect 1 'its tests "tests/core/two_test.cpp" are not there' 'the second line of tests is read'
printf '// One.\n// Tests: tests/core/one_test.cpp\n#pragma once\n' >"$root/veldt/core/one.h"
expect 0 '' 'a header with tests passes'
printf '// One.\n#pragma once\n// Tests: tests/core/one_test.cpp\n' >"$root/veldt/core/one.h"
expect 1 'veldt/core/one.h: it does not name its tests' 'tests that are named below the first comment fail'

printf '// One.\n// Tests: tests/core/one_test.cpp\n#pragma once\ninline constexpr int kMost = 1;\n' >"$root/veldt/core/one.h"
printf '// One.\nnamespace {\nconstexpr std::size_t kMost = 2;\n}\n' >"$root/veldt/core/two.cpp"
expect 1 "veldt/core/two.cpp: its kMost has the name of another constant" 'a constant that hides one of a header fails'
mkdir "$root/veldt/io"
mv "$root/veldt/core/two.cpp" "$root/veldt/io"
expect 0 '' 'in another layer it passes'
exit "$failed"
