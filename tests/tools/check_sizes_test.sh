#!/usr/bin/env bash
# tools/check_sizes must list the longest sources and classes, and fail on a long file, class or line.
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

for ending in js css html py; do
  { letters 300 a; echo; lines 600; } >"$root/veldt/core/page.$ending"
  expect 1 "veldt/core/page.$ending: the file has 601 lines" "a .$ending file of 601 lines fails"
  { letters 300 a; echo; lines 500; } >"$root/veldt/core/page.$ending"
  expect 0 '' "wide lines of a .$ending file pass"
  rm "$root/veldt/core/page.$ending"
done

letters 110 a >"$root/veldt/core/wide.h"
expect 0 '' 'a line of 110 columns passes'
letters 110 'é' >"$root/veldt/core/wide.h"
expect 0 '' 'a line of 110 columns in 220 bytes passes'
{ echo; letters 111 a; } >"$root/veldt/core/wide.h"
expect 1 'veldt/core/wide.h:2: the line has 111 columns' 'a line of 111 columns fails'
rm "$root/veldt/core/wide.h"

class_of() {  # LINES INDENT HEAD...: a class of so many lines in all, its inner braces and classes not counted apart
  printf "%*s" "$2" ''
  printf '%s\n' "${@:3}"
  printf "%*s  struct Inner {\n%*s    int x;\n%*s  };\n" "$2" '' "$2" '' "$2" ''
  for ((i = 0; i < $1 - ($# - 2) - 7; ++i)); do printf "%*s  int x_%d;\n" "$2" '' "$i"; done
  printf "%*s  int f() {\n%*s    return 1;\n%*s  }\n%*s};\n" "$2" '' "$2" '' "$2" '' "$2" ''
}

class_of 150 0 'class Long {' >"$root/veldt/core/class.cpp"
expect 0 '  150 veldt/core/class.cpp Long' 'a class of 150 lines passes'
class_of 151 0 'class Long final : public Other {' >"$root/veldt/core/class.cpp"
expect 1 'veldt/core/class.cpp:1: the class Long has 151 lines, not at most 150' 'a class of 151 lines fails'
class_of 151 0 'class Outer::Long' '    : public Other {' >"$root/veldt/core/class.cpp"
expect 1 'the class Outer::Long has 151 lines' 'a class whose head has two lines fails'
{ class_of 100 0 'class A {'; class_of 100 0 'struct B {'; } >"$root/veldt/core/class.cpp"
expect 0 '  100 veldt/core/class.cpp B' 'two classes of 100 lines pass'
{ echo 'struct Outside {'; class_of 151 2 'template <class T> struct Inside {'; echo '};'; } >"$root/veldt/core/class.cpp"
expect 1 'the class Inside has 151 lines' 'a long class in another fails'
{ echo 'class Later;'; echo 'struct One { int x; };'; echo 'int f() {'; lines 200; echo '}'; } >"$root/veldt/core/class.cpp"
expect 0 '' 'a class that is only named, and one of a line, have no length'
rm "$root/veldt/core/class.cpp"

mkdir "$root/veldt/cpu"
class_of 240 0 'class LayerWalk {' >"$root/veldt/cpu/mlp.cpp"
expect 0 '' 'a class that was long when the bound came passes'
class_of 241 0 'class LayerWalk {' >"$root/veldt/cpu/mlp.cpp"
expect 1 'the class LayerWalk has 241 lines, not at most 240' 'and may not grow'
class_of 151 0 'class Walk {' >>"$root/veldt/cpu/mlp.cpp"
expect 1 'the class Walk has 151 lines, not at most 150' 'nor make room for another beside it'
class_of 150 0 'class LayerWalk {' >"$root/veldt/cpu/mlp.cpp"
expect 1 'the class LayerWalk of veldt/cpu/mlp.cpp is no longer long' 'and leaves the list when it is short'
rm "$root/veldt/cpu/mlp.cpp"

lines 700 >"$root/docs/tour.cpp"
expect 0 '' 'a long file outside the source folders passes'
printf 'build/\n' >"$root/.gitignore"
mkdir "$root/veldt/build"
lines 700 >"$root/veldt/build/made.cpp"
expect 0 '' 'a file that git ignores passes'

exit $failed
