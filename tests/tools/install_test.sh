#!/usr/bin/env bash
# An installed Veldt must serve a user's project: find_package(Veldt), one file, compiled in under 3 s.
# Usage: install_test.sh REPOSITORY BUILD_FOLDER [COMPILER FLAGS]
set -euo pipefail
repository=$1 build=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

cmake --install "$build" --prefix "$root/prefix" >"$root/log" 2>&1 || { cat "$root/log"; exit 1; }

mkdir "$root/user"
cp "$repository/examples/xor.cpp" "$root/user/main.cpp"
cat >"$root/user/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES CXX)
find_package(Veldt 0.1 REQUIRED)
add_executable(user main.cpp)
target_link_libraries(user PRIVATE veldt::veldt)
TEXT
{
  cmake -S "$root/user" -B "$root/user/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$root/prefix" -DCMAKE_CXX_FLAGS="${3:-}" &&
    cmake --build "$root/user/build"
} >"$root/log" 2>&1 || { echo 'FAIL: a project with find_package(Veldt) does not build'; cat "$root/log"; exit 1; }
"$root/user/build/user" >"$root/log" 2>&1 || { echo 'FAIL: its program fails'; cat "$root/log"; exit 1; }

# Processor time, not the clock's: other tests run beside this one.
TIMEFORMAT='%U %S'
seconds=$({ time g++ -std=c++20 -O2 -I "$root/prefix/include" -c "$root/user/main.cpp" -o "$root/main.o"; } 2>&1)
echo "$seconds" | awk '{ printf "a one-file program compiles in %.2f s\n", $1 + $2; exit !($1 + $2 < 3) }'
