#!/usr/bin/env bash
# A user's project must be able to use Veldt in each of the four ways (examples/consume_with_cmake), from a tree
# that was moved after it was installed; every public header must compile alone; packages must hold what their
# users need. One built tree serves all: what fetch and folder would compile again is copied from there.
# Usage: install_test.sh REPOSITORY BUILD_FOLDER COMPILER BUILD_TYPE [COMPILER FLAGS]
set -euo pipefail
repository=$1 build=$2 compiler=$3 build_type=$4 flags=${5:-}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

run() {  # WHAT COMMAND...: its output is shown if it fails
  local what=$1
  shift
  "$@" >"$root/log" 2>&1 || { printf 'FAIL: %s\n' "$what"; cat "$root/log"; exit 1; }
}

run 'the install fails' cmake --install "$build" --prefix "$root/first"
mv "$root/first" "$root/prefix"
libdir=$(dirname "$(find "$root/prefix" -name 'libveldt.*' -print -quit)")
archive=$libdir/libveldt.a
if [[ $build_type == Release && -z $flags && -f $archive ]] && (($(stat -c %s "$archive") > 15000000)); then
  printf 'FAIL: libveldt.a has %d bytes, and 15 MB is what it may have\n' "$(stat -c %s "$archive")"
  exit 1
fi

consume() {  # NAME WAY [CMAKE OPTION...]: builds the user's project in $root/NAME and runs it
  local name=$1 way=$2 into=$root/$1
  shift 2
  # Makefiles go by the times of files alone: the copied objects count as compiled.
  run "a project with VELDT_FROM=$way is not configured" cmake -S "$repository/examples/consume_with_cmake" \
    -B "$into" -G 'Unix Makefiles' -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE="$build_type" \
    -DCMAKE_CXX_FLAGS="$flags" -DVELDT_FROM="$way" "$@"
  case $way in
    fetch) copy_objects "$into/_deps/veldt-build/veldt/CMakeFiles" ;;
    folder) copy_objects "$into/veldt/veldt/CMakeFiles" ;;
  esac
  run "a project with VELDT_FROM=$way is not built" cmake --build "$into"
  (cd "$into" && run "the program of $name fails" ./line)
}

copy_objects() {  # FOLDER: the objects of the layers, in their places
  local object
  (cd "$build/veldt/CMakeFiles" && find . -name '*.o') | while read -r object; do
    mkdir -p "$(dirname "$1/$object")"
    cp "$build/veldt/CMakeFiles/$object" "$1/$object"
  done
}

consume package package -DCMAKE_PREFIX_PATH="$root/prefix"

PKG_CONFIG_PATH=$libdir/pkgconfig consume pkg-config pkg-config
onednn=$(sed -n 's/^VELDT_ONEDNN:BOOL=//p' "$build/CMakeCache.txt")
shared=$(sed -n 's/^BUILD_SHARED_LIBS:BOOL=//p' "$build/CMakeCache.txt")
same=(-DVELDT_ONEDNN="$onednn" -DBUILD_SHARED_LIBS="$shared")
consume fetch fetch -DFETCHCONTENT_SOURCE_DIR_VELDT="$repository" "${same[@]}"
consume folder folder -DVELDT_FOLDER="$repository" "${same[@]}"

# As a shared library, which brings its own links: in the project around it, and installed from there.
consume shared folder -DVELDT_FOLDER="$repository" -DVELDT_ONEDNN="$onednn" -DBUILD_SHARED_LIBS=ON \
  -DVELDT_INSTALL=ON
run 'the install of the shared library fails' cmake --install "$root/shared" --prefix "$root/shared_prefix"
"$repository/tools/check_linked" "$root/shared" "$root/shared_prefix"
consume shared_package package -DCMAKE_PREFIX_PATH="$root/shared_prefix"
library=$(find "$root/shared_prefix" -type f -name 'libveldt.so.*')
printf '%s has %d KiB\n' "$(basename "$library")" $(($(stat -c %s "$library") / 1024))
version=$(sed -n 's/^project(Veldt VERSION \([0-9.]*\).*/\1/p' "$repository/CMakeLists.txt")
[[ $library == *"libveldt.so.$version" ]] || { echo "FAIL: the file name lacks $version"; exit 1; }

# Nothing in the installed tree may know where it was built or first installed.
if grep -rlF -e "$root/first" -e "$build" "$libdir/cmake" "$libdir/pkgconfig"; then
  echo 'FAIL: the files above name a folder of the build'
  exit 1
fi

# Every installed header, by itself, with no include path but the installed one: all but those that the build has
# compiled so, for their source includes them before all others.
comes_first() {  # HEADER
  local source=$repository/${1%.h}.cpp
  [[ -f $source ]] && [[ $(grep -m 1 '^#include' "$source") == "#include \"$1\"" ]]
}
alone() {
  echo "#include \"$1\"" | "$2" -std=c++20 -fsyntax-only -I "$3" -x c++ - ||
    { printf 'FAIL: %s does not compile alone\n' "$1"; return 1; }
}
export -f alone
(cd "$root/prefix/include" && find veldt -name '*.h') | sort |
  while read -r header; do comes_first "$header" || echo "$header"; done |
  xargs -P 2 -I{} bash -c 'alone "$@"' _ {} "$compiler" "$root/prefix/include"

# Processor time, not the clock's: other tests run beside this one.
TIMEFORMAT='%U %S'
seconds=$({ time "$compiler" -std=c++20 -O2 -I "$root/prefix/include" -c "$repository/examples/xor.cpp" \
  -o "$root/main.o"; } 2>&1)
echo "$seconds" | awk '{ printf "a one-file program compiles in %.2f s\n", $1 + $2; exit !($1 + $2 < 3) }'
