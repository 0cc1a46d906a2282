#!/usr/bin/env bash
# ./dev must list its verbs, refuse what it does not know, and install what is missing and only that.
# Usage: dev_test.sh REPOSITORY
# shellcheck disable=SC2016  # the stand-ins expand their own variables
set -euo pipefail
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp "$1/dev" "$root/dev"  # a copy: its build/ folder is not the repository's
mkdir "$root/bin" "$root/tools"
cp "$1/tools/gpu_run" "$1/tools/fuzz" "$root/tools/"  # which know their own flags
mkdir "$root/tests"
cp -r "$1/tests/fuzz" "$root/tests/"  # which name the targets
export PATH=$root/bin:$PATH
unset VELDT_NO_SETUP
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

stand_in() {  # NAME LINE...: a program of that name, first in the path
  printf '%s\n' '#!/usr/bin/env bash' "${@:2}" >"$root/bin/$1"
  chmod +x "$root/bin/$1"
}

for verb in setup build paint test check fuzz bench gpu fresh docs arm64 format help; do
  expect "./dev lists $verb" 0 "  $verb" "$root/dev"
done
expect 'the help of a verb, before anything is built' 0 '  test ' "$root/dev" test --help
expect 'an unknown verb' 2 'dev: error: there is no verb "tset"' "$root/dev" tset
[[ $(wc -l <<<"$out") == 3 ]] || { printf 'FAIL: an error has three lines, not:\n%s\n' "$out"; failed=1; }
if command -v python3 >/dev/null; then  # what tools/gpu_run is written in
  expect 'an unknown flag of gpu, before anything is built' 2 'unrecognized arguments: --hlp' "$root/dev" gpu --hlp
  expect 'an unknown part of gpu' 2 'there is no part foo' "$root/dev" gpu --only foo
fi
expect 'two archives' 2 'takes one file, not 2' "$root/dev" gpu pack a b
expect 'an unknown preset' 2 'there is no preset "fast"' "$root/dev" build --preset fast
expect 'an unknown preset of fuzz targets' 2 'there is no preset "asan" of fuzz' "$root/dev" fuzz --preset asan
expect 'an unknown fuzz target, before anything is built' 2 'there is no fuzz target "nosuch"' "$root/dev" fuzz nosuch
expect 'no seconds, before anything is built' 2 '"abc" is not a number of seconds' "$root/dev" fuzz png abc
expect 'pictures in two folders' 2 'does not know "a b"' "$root/dev" paint a b
expect 'a flag of paint' 2 'does not know "--fast"' "$root/dev" paint --fast
expect 'pictures in a file' 2 'does not know "dev"' "$root/dev" paint dev
printf '* a  list\n' >"$root/list.md"
expect 'Markdown is no source' 2 'does not format "list.md"' "$root/dev" format list.md
[[ $(cat "$root/list.md") == '* a  list' ]] || { echo 'FAIL: Markdown was formatted'; failed=1; }
expect 'a source that is not there' 2 'there is no file "none.cpp"' "$root/dev" format none.cpp
expect 'a check of something rare' 2 'does not know "rare"' "$root/dev" check --all rare
expect 'a check of something' 2 'does not know "format"' "$root/dev" check format
expect 'docs of something' 2 'does not know "html"' "$root/dev" docs html
expect 'an unknown Debian' 2 'does not know "11"' "$root/dev" fresh 11
expect 'two Debians' 2 'does not know "12 13"' "$root/dev" fresh 12 13
stand_in id 'echo 1000'
expect 'fresh without root' 1 'only root can make a root folder' "$root/dev" fresh 13
stand_in id 'echo 0'
stand_in fresh 'echo "tries $*"'
cp "$root/bin/fresh" "$root/tools/fresh"
VELDT_NO_SETUP=1 expect 'fresh tries both' 0 'tries 12 13' "$root/dev" fresh
VELDT_NO_SETUP=1 expect 'fresh tries one' 0 'tries 13' "$root/dev" fresh 13

# Packages: everything but g++ and cmake is there. apt-get and sudo only note how they are called.
stand_in clang-format-14 true
stand_in sudo '[[ $1 == -v ]] || exec "$@"'
stand_in dpkg-query 'for package in "${@:4}"; do' \
  '  case $package in g++ | cmake) echo "$package not-installed" ;; *) echo "$package installed" ;; esac; done'
stand_in apt-get "echo \"\$DEBIAN_FRONTEND: \$*\" >>'$root/calls'"
expect 'setup names what is missing' 0 'Veldt needs 2 more package(s): g++ cmake' "$root/dev" setup
grep -q '^noninteractive: .*update$' "$root/calls" || { echo 'FAIL: no apt-get update'; failed=1; }
grep -q '^noninteractive: .*install -y --no-install-recommends g++ cmake$' "$root/calls" ||
  { printf 'FAIL: apt-get was called otherwise:\n%s\n' "$(cat "$root/calls")"; failed=1; }

stand_in apt-get 'echo "E: Unable to locate package cmake"; exit 100'
expect 'setup says why apt-get failed' 1 'E: Unable to locate package cmake' "$root/dev" setup
expect 'setup fails in three lines' 1 'dev: error: the packages could not be installed' "$root/dev" setup
VELDT_NO_SETUP=1 expect 'VELDT_NO_SETUP installs nothing' 0 '' "$root/dev" setup
[[ -z $out ]] || { printf 'FAIL: VELDT_NO_SETUP is not silent:\n%s\n' "$out"; failed=1; }

stand_in dpkg-query 'for package in "${@:4}"; do echo "$package installed"; done'
expect 'setup is silent when nothing is missing' 0 '' "$root/dev" setup
[[ -z $out ]] || { printf 'FAIL: setup said:\n%s\n' "$out"; failed=1; }

exit $failed
