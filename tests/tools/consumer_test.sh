#!/usr/bin/env bash
# A program of a user's own (examples/classify.cpp), built by find_package with an installed Veldt as docs/tour.md says,
# classifies pictures with what the installed `veldt train` wrote. install_test.sh tries the other ways to get Veldt.
# Usage: consumer_test.sh REPOSITORY BUILD_FOLDER COMPILER BUILD_TYPE [COMPILER FLAGS]
set -euo pipefail
repository=$1 build=$2 compiler=$3 build_type=$4 flags=${5:-}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

run() {  # WHAT COMMAND...: its output is shown if it fails
  local what=$1
  shift
  "$@" >"$root/log" 2>&1 || { printf 'FAIL: %s\n' "$what"; cat "$root/log"; exit 1; }
}

run 'the install fails' cmake --install "$build" --prefix "$root/prefix"
mkdir "$root/mine"
cp "$repository/examples/classify.cpp" "$root/mine/main.cpp"
sed -n '/^cmake_minimum_required/,/^```/p' "$repository/docs/tour.md" | sed '/^```/d' >"$root/mine/CMakeLists.txt"
run 'the project is not configured' cmake -S "$root/mine" -B "$root/mine/build" -G 'Unix Makefiles' \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE="$build_type" -DCMAKE_CXX_FLAGS="$flags" \
  -DCMAKE_PREFIX_PATH="$root/prefix"
run 'the project is not built' cmake --build "$root/mine/build"
run 'the program cannot use what veldt train wrote' bash "$repository/tests/tools/classify_test.sh" \
  "$root/prefix/bin/veldt" "$root/mine/build/mine"
