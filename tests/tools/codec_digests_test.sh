#!/usr/bin/env bash
# Packed pictures must be the same pixels on every machine: their decoder, made for 64-bit ARM and run under qemu, against
# that of this build. Skipped without the cross-compiler or qemu (g++-aarch64-linux-gnu, qemu-user-static).
# Usage: codec_digests_test.sh REPOSITORY VELDT DIGESTS   (the commands veldt and packed_digests of this build)
set -euo pipefail
repository=$1 veldt=$2 digests=$3
for needed in aarch64-linux-gnu-g++ qemu-aarch64-static; do
  command -v "$needed" >/dev/null || { echo "SKIPPED: $needed is not here"; exit 77; }
done
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp "$(echo '#include <xxhash.h>' | c++ -E -x c++ - | sed -n 's/^# 1 "\(.*xxhash\.h\)".*/\1/p' | head -n 1)" "$root"

mkdir "$root/arm.o"
for source in "$repository"/veldt/codec/*.cpp "$repository"/veldt/core/{base64,cores,error,escape,threads,worker_pool}.cpp \
  "$repository/tests/tools/packed_digests.cpp"; do
  aarch64-linux-gnu-g++ -std=c++20 -O1 -DXXH_INLINE_ALL -I"$repository" -I"$root" -c "$source" \
    -o "$root/arm.o/$(basename "$source").o"
done
aarch64-linux-gnu-g++ -pthread -static "$root/arm.o"/*.o -o "$root/arm"

python3 -c '
import sys
width, height = 90, 70
sys.stdout.buffer.write(b"P7\nWIDTH %d\nHEIGHT %d\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n" % (width, height))
sys.stdout.buffer.write(bytes(v for y in range(height) for x in range(width)
                              for v in (2 * x, 3 * y, x * y % 251, min(255, 9 * abs(x - y)))))' >"$root/colours.pam"
"$veldt" pack "$repository/assets/cub.png" -o "$root/cub.vp" --quiet >"$root/said"
"$veldt" pack "$repository/assets/cub_grey.png" -o "$root/levels.vp" --family exact --quiet >"$root/said"
"$veldt" pack "$root/colours.pam" -o "$root/colours.vp" --family photograph --steps 20 --bpp 2 --quiet >"$root/said"
"$veldt" pack "$root/colours.pam" -o "$root/rgb.vp" --family photograph --steps 20 --background white --quiet >"$root/said"
"$digests" --write "$root/odd.vp"

cd "$root"
packed=(cub.vp levels.vp colours.vp rgb.vp odd.vp)
qemu-aarch64-static ./arm "${packed[@]}" >arm.txt
"$digests" "${packed[@]}" >here.txt
cat arm.txt
diff arm.txt here.txt
