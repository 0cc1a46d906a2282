// Products of integers by instructions that only some processors have: AMX's tiles, and VNNI's sums of four
// products.
#include "veldt/cpu/int8_product.h"

#if defined(__x86_64__) && defined(__linux__)
#ifndef __clang__  // which does not know the warning
// g++ 12 warns about the intrinsics' undefined registers (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <cpuid.h>
#include <immintrin.h>

#include "veldt/cpu/amx.h"

#define VELDT_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define VELDT_AVX_VNNI __attribute__((target("avx2,avxvnni")))
#define VELDT_AMX_INT8 __attribute__((target("avx512f,amx-tile,amx-int8")))

namespace veldt::cpu {
namespace {

// kRows rows, which stay in registers with both halves of the columns.
template <int kRows>
VELDT_VNNI inline __attribute__((always_inline)) void rows_by_vnni(const std::uint8_t* a, std::int64_t a_row,
                                                                   std::int64_t depth,
                                                                   const std::int8_t* panel,
                                                                   std::int32_t* c) {
  __m512i s[kRows][2];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) s[r][0] = s[r][1] = _mm512_setzero_si512();
  for (std::int64_t k = 0; k < depth; k += 4, panel += 4 * kInt8Block) {
    const __m512i w0 = _mm512_loadu_si512(panel), w1 = _mm512_loadu_si512(panel + 64);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      int four;
      __builtin_memcpy(&four, a + r * a_row + k, sizeof four);
      const __m512i x = _mm512_set1_epi32(four);
      s[r][0] = _mm512_dpbusd_epi32(s[r][0], x, w0);
      s[r][1] = _mm512_dpbusd_epi32(s[r][1], x, w1);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    _mm512_storeu_si512(c + r * kInt8Block, s[r][0]);
    _mm512_storeu_si512(c + r * kInt8Block + 16, s[r][1]);
  }
}

VELDT_VNNI void product_by_vnni(const std::uint8_t* a, std::int64_t a_row, std::int64_t rows,
                                std::int64_t depth, const std::int8_t* panel, std::int32_t* c) {
  std::int64_t r = 0;
  for (; r + 8 <= rows; r += 8) rows_by_vnni<8>(a + r * a_row, a_row, depth, panel, c + r * kInt8Block);
  for (; r + 4 <= rows; r += 4) rows_by_vnni<4>(a + r * a_row, a_row, depth, panel, c + r * kInt8Block);
  for (; r < rows; ++r) rows_by_vnni<1>(a + r * a_row, a_row, depth, panel, c + r * kInt8Block);
}

// The same with registers of 8 sums, for half of the columns.
template <int kRows>
VELDT_AVX_VNNI inline __attribute__((always_inline)) void rows_by_avx_vnni(const std::uint8_t* a,
                                                                           std::int64_t a_row,
                                                                           std::int64_t depth,
                                                                           const std::int8_t* panel,
                                                                           std::int32_t* c) {
  __m256i s[kRows][2];
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) s[r][0] = s[r][1] = _mm256_setzero_si256();
  for (std::int64_t k = 0; k < depth; k += 4, panel += 4 * kInt8Block) {
    const __m256i w0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel)),
                  w1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel + 32));
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      int four;
      __builtin_memcpy(&four, a + r * a_row + k, sizeof four);
      const __m256i x = _mm256_set1_epi32(four);
      s[r][0] = _mm256_dpbusd_avx_epi32(s[r][0], x, w0);
      s[r][1] = _mm256_dpbusd_avx_epi32(s[r][1], x, w1);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + r * kInt8Block), s[r][0]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(c + r * kInt8Block + 8), s[r][1]);
  }
}

VELDT_AVX_VNNI void product_by_avx_vnni(const std::uint8_t* a, std::int64_t a_row, std::int64_t rows,
                                        std::int64_t depth, const std::int8_t* panel, std::int32_t* c) {
  for (int half = 0; half < 2; ++half, panel += 64, c += 16) {
    std::int64_t r = 0;
    for (; r + 6 <= rows; r += 6) rows_by_avx_vnni<6>(a + r * a_row, a_row, depth, panel, c + r * kInt8Block);
    for (; r + 2 <= rows; r += 2) rows_by_avx_vnni<2>(a + r * a_row, a_row, depth, panel, c + r * kInt8Block);
    if (r < rows) rows_by_avx_vnni<1>(a + r * a_row, a_row, depth, panel, c + r * kInt8Block);
  }
}

// Two by two tiles of sums; few rows leave the AMX units idle, and take VNNI.
VELDT_AMX_INT8 void product_by_amx(const std::uint8_t* a, std::int64_t a_row, std::int64_t rows,
                                   std::int64_t depth, const std::int8_t* panel, std::int32_t* c) {
  if (rows <= 4) return product_by_vnni(a, a_row, rows, depth, panel, c);
  constexpr std::int64_t kRow = kInt8Block * 4;
  const bool second = rows > 16;  // tiles of rows
  amx::memory_is_read();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t k = 0; k < depth; k += kInt8Depth, panel += kInt8Depth * kInt8Block) {
    _tile_loadd(4, a + k, a_row);
    _tile_loadd(6, panel, 128);
    _tile_loadd(7, panel + 64, 128);
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    if (!second) continue;
    _tile_loadd(5, a + 16 * a_row + k, a_row);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
  _tile_stored(0, c, kRow);
  _tile_stored(1, c + 16, kRow);
  if (second) {
    _tile_stored(2, c + 16 * kInt8Block, kRow);
    _tile_stored(3, c + 16 * kInt8Block + 16, kRow);
  }
  amx::memory_is_read();
}

void without_tiles() {}

bool has_vnni() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
}

// AVX2 and the instruction's form without AVX-512. Not every compiler's builtin knows it by name.
bool has_avx_vnni() {
  unsigned a, b, c, d;
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 &&
         (a & (1U << 4)) != 0;
}

}  // namespace

const Int8Kernels* avx_vnni_int8_kernels() {
  static constexpr Int8Kernels kernels{"AVX-VNNI",          4,      kInt8Block, without_tiles, without_tiles,
                                       product_by_avx_vnni, nullptr};
  static const bool there = has_avx_vnni();
  return there ? &kernels : nullptr;
}

const Int8Kernels* vnni_int8_kernels() {
  static constexpr Int8Kernels kernels{"VNNI",          4,      kInt8Block, without_tiles, without_tiles,
                                       product_by_vnni, nullptr};
  static const bool there = has_vnni();
  return there ? &kernels : nullptr;
}

const Int8Kernels* amx_int8_kernels() {
  static constexpr Int8Kernels kernels{"AMX",    kInt8Depth,     kInt8Block, amx::begin,
                                       amx::end, product_by_amx, nullptr};
  static const bool there = has_vnni() && amx::has(amx::kInt8) && amx::tiles_are_lent();
  return there ? &kernels : nullptr;
}

}  // namespace veldt::cpu

#else
namespace veldt::cpu {
const Int8Kernels* vnni_int8_kernels() { return nullptr; }
const Int8Kernels* avx_vnni_int8_kernels() { return nullptr; }
const Int8Kernels* amx_int8_kernels() { return nullptr; }
}  // namespace veldt::cpu
#endif
