// What users of AMX's tiles have in common: whether they are there, and their sizes. Only for Linux on x86.
// Tests: tests/cpu/quantized_test.cpp, tests/cpu/mlp_bf16_finish_test.cpp
#pragma once

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace veldt::cpu::amx {

// GCC's tile loads do not declare that they read memory.
inline void memory_is_read() { asm volatile("" ::: "memory"); }

// Eight tiles of 16 rows of 64 bytes.
__attribute__((target("amx-tile"))) inline void begin() {
  struct alignas(64) Config {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t bytes_a_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  static constexpr Config config;
  asm volatile("ldtilecfg %0" ::"m"(config));
}
__attribute__((target("amx-tile"))) inline void end() { _tile_release(); }

// Linux enables the tiles for a process on request.
inline bool tiles_are_lent() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

constexpr unsigned kBf16 = 22, kInt8 = 25;  // bits of edx of cpuid's leaf 7
// Whether the processor has tiles, and products of that kind.
inline bool has(unsigned kind) {
  unsigned a, b, c, d = 0;
  asm("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
  return (d >> kind & 1) != 0 && (d >> 24 & 1) != 0;
}

}  // namespace veldt::cpu::amx
