#!/usr/bin/env bash
# No program or library that is built or installed may run code that lies in the folder where it is started, and
# tools/check_linked must catch what is planted for it.
# Usage: linked_test.sh REPOSITORY BUILD_FOLDER COMPILER
# shellcheck disable=SC2016  # $ORIGIN is the loader's, and bash -c has variables of its own
set -euo pipefail
repository=$1 build=$2 compiler=$3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0
fail() { printf 'FAIL: %s\n' "$1"; failed=1; }

# The checker: a good program, then each fault by itself.
echo 'int main() { return 0; }' >"$root/main.cpp"
echo 'int other() { return 0; }' >"$root/other.cpp"
"$compiler" -fPIC -shared "$root/other.cpp" -o "$root/libother.so"
expect() {  # TEXT LINKER FLAG...: what is said of a program that is linked so
  local text=$1 said
  shift
  mkdir -p "$root/bin"
  "$compiler" -fPIE "$root/main.cpp" -o "$root/bin/main" "$@"
  said=$("$repository/tools/check_linked" "$root/bin") && [[ $text != *'no faults'* ]] && fail "$text was not seen"
  [[ $said == *"$text"* ]] || fail "$*: expected \"$text\", and it says: $said"
}
expect '1 files, no faults' -pie -Wl,-rpath,'$ORIGIN/../lib:/usr/lib'
expect 'looks for libraries in ""' -pie -Wl,-rpath,/usr/lib:
expect 'looks for libraries in ""' -pie -Wl,-rpath,:::
expect 'looks for libraries in ""' -pie -Wl,--disable-new-dtags,-rpath,/usr/lib::/lib
expect 'looks for libraries in "lib"' -pie -Wl,-rpath,/usr/lib:lib
expect 'needs libother.so' -pie -Wl,--no-as-needed -L"$root" -lother
expect 'at a fixed address' -no-pie
expect 'stack could be run' -pie -Wl,-z,execstack
expect 'stays writable' -pie -Wl,-z,norelro
"$repository/tools/check_linked" "$root/main.cpp" >/dev/null && fail 'no program at all was taken for a good one'

# What was built, and what an install makes of it.
cmake --install "$build" --prefix "$root/prefix" >/dev/null
folders=()
for folder in "$build/bin" "$build/lib" "$root/prefix"; do
  [[ -z $(find "$folder" -type f \( -perm /111 -o -name '*.so*' \) -print -quit) ]] || folders+=("$folder")
done
"$repository/tools/check_linked" "${folders[@]}" || failed=1

# Started in a folder where a stranger put libraries of the names that are opened, with that folder as the name it is
# called by, and with a plug-in in a folder that the loader searches: the plug-in is the build's own or none.
echo '#include <cstdio>
__attribute__((constructor)) void hostile() { std::fclose(std::fopen("hostile_code_ran", "w")); }' >"$root/hostile.cpp"
"$compiler" -fPIC -shared "$root/hostile.cpp" -o "$root/hostile.so"
mkdir "$root/hostile" "$root/searched"
cp "$root/hostile.so" "$root/searched/libveldt_cuda.so"
for name in libpng16.so.16 libveldt_cuda.so libsndfile.so.1 libcurl.so.4 libcrypto.so.3 libcublasLt.so.{12,13} \
  libtiff.so.6 libavif.so.{15,16} libheif.so.1 libjxl.so.0.{7,11} \
  libmicrohttpd.so.12 libsixel.so.1; do
  cp "$root/hostile.so" "$root/hostile/$name"
done
start() { "$@" >"$root/said" 2>&1 || fail "$* fails: $(head -n 3 "$root/said")"; }
cd "$root/hostile"
for folder in "$build/bin" "$root/prefix/bin"; do
  [[ -x $folder/veldt ]] || continue
  for verb in --version doctor; do
    start "$folder/veldt" "$verb"
    PATH=$folder:$PATH start veldt "$verb"
    start bash -c 'exec -a "$PWD/veldt" "$@"' _ "$folder/veldt" "$verb"
    LD_LIBRARY_PATH=$root/searched start "$folder/veldt" "$verb"
    [[ ! -e hostile_code_ran ]] || fail "$folder/veldt $verb ran a stranger's code"
    rm -f hostile_code_ran
  done
done
exit $failed
