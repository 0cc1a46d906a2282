#!/usr/bin/env bash
# `cpack -G DEB` must make two packages: the command, with what it links as its dependencies, and a library that
# a user's project finds once both are unpacked.
# Usage: deb_test.sh REPOSITORY BUILD_FOLDER COMPILER BUILD_TYPE [COMPILER FLAGS]   (exits with 77 if it cannot)
set -euo pipefail
repository=$1 build=$2 compiler=$3 build_type=$4 flags=${5:-}
for tool in cpack dpkg-deb dpkg-shlibdeps; do
  command -v "$tool" >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
[[ -x $build/bin/veldt ]] || { echo 'skipped: the command was not built'; exit 77; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

run() {  # WHAT COMMAND...: its output is shown if it fails
  local what=$1
  shift
  "$@" >"$root/log" 2>&1 || { printf 'FAIL: %s\n' "$what"; cat "$root/log"; exit 1; }
}

run 'cpack fails' cpack -G DEB --config "$build/CPackConfig.cmake" -B "$root"
for package in veldt libveldt-dev; do
  file=$(find "$root" -maxdepth 1 -name "${package}_*.deb" -print -quit)
  [[ -n $file ]] || { echo "FAIL: there is no package $package"; ls "$root"; exit 1; }
  dpkg-deb -x "$file" "$root/tree"
  dpkg-deb -f "$file" Depends >"$root/$package.depends"
  printf '%s: %d KiB, depends on %s\n' "$(basename "$file")" $(($(stat -c %s "$file") / 1024)) \
    "$(cat "$root/$package.depends")"
done
grep -q 'libpng16-16.*libstdc++6' "$root/veldt.depends" || { echo 'FAIL: veldt lacks its libraries'; exit 1; }

"$repository/tools/check_linked" "$root/tree"

version=$(sed -n 's/^project(Veldt VERSION \([0-9.]*\).*/\1/p' "$repository/CMakeLists.txt")
said=$("$root/tree/usr/bin/veldt" --version)
[[ $said == *"$version"* ]] || { echo "FAIL: the packed command says it is $said"; exit 1; }

run 'a project does not find the package' cmake -S "$repository/examples/consume_with_cmake" -B "$root/user" \
  -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE="$build_type" -DCMAKE_CXX_FLAGS="$flags" \
  -DCMAKE_PREFIX_PATH="$root/tree/usr"
run 'a project with the package is not built' cmake --build "$root/user"
cd "$root/user"
run 'its program fails' ./line
