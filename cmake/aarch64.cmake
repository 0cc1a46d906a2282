# Cross-compiles for 64-bit ARM by Debian's g++-aarch64-linux-gnu, and runs what was built under qemu. CMAKE_SYSROOT is the
# folder that tools/arm64_libraries makes; ./dev arm64 does all of it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
# NEON, as most processors have it. qemu's own choice has registers of SVE with 64 bytes, for which oneDNN makes other code.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -cpu neoverse-n1 -L ${CMAKE_SYSROOT})
