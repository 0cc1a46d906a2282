// The bf16 products themselves, in AMX tiles and in AVX-512, and the choice between them.
#include "veldt/cpu/mlp_bf16.h"

#include "veldt/cpu/mlp_bf16_finish.h"

#if defined(__x86_64__) && defined(__linux__)
#ifndef __clang__  // which does not know the warning
// g++ 12 warns about the intrinsics' undefined registers (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "veldt/cpu/amx.h"

#define VELDT_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define VELDT_AMX __attribute__((target("avx512f,amx-tile,amx-bf16")))

namespace veldt::cpu {
namespace {

constexpr std::int64_t kBlock = Bf16Kernels::kBlock;

// --- rounding and order

VELDT_BF16 inline __m512i rounded(const float* low, const float* high) {
  return (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(high), _mm512_loadu_ps(low));
}

// Transposes 16 rows of 16 words into columns, stored `stride` bytes apart: words are swapped within and
// between pairs of rows that are 1, 2, 4 and 8 apart.
VELDT_BF16 void store_transposed(__m512i (&m)[16], char* to, std::int64_t stride) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(m[i], m[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(m[i], m[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int j = 0; j < 2; ++j) {
      m[i + 2 * j] = _mm512_unpacklo_epi64(t[i + j], t[i + j + 2]);
      m[i + 2 * j + 1] = _mm512_unpackhi_epi64(t[i + j], t[i + j + 2]);
    }
  // m[4 g + c] holds, of rows 4 g .. 4 g + 3, the columns c, 4 + c, 8 + c and 12 + c, 128 bits each.
  for (int c = 0; c < 4; ++c) {
    const __m512i a = _mm512_shuffle_i32x4(m[c], m[4 + c], 0x88),
                  b = _mm512_shuffle_i32x4(m[c], m[4 + c], 0xdd);
    const __m512i e = _mm512_shuffle_i32x4(m[8 + c], m[12 + c], 0x88),
                  f = _mm512_shuffle_i32x4(m[8 + c], m[12 + c], 0xdd);
    _mm512_storeu_si512(to + c * stride, _mm512_shuffle_i32x4(a, e, 0x88));
    _mm512_storeu_si512(to + (8 + c) * stride, _mm512_shuffle_i32x4(a, e, 0xdd));
    _mm512_storeu_si512(to + (4 + c) * stride, _mm512_shuffle_i32x4(b, f, 0x88));
    _mm512_storeu_si512(to + (12 + c) * stride, _mm512_shuffle_i32x4(b, f, 0xdd));
  }
}

VELDT_BF16 void pack(const float* z, std::int64_t stride, Bf16* rows, Bf16* pairs, Bf16* columns,
                     std::int64_t column_stride) {
  alignas(64) static constexpr std::uint16_t kInterleave[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                                21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                                11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  if (rows)
    for (std::int64_t r = 0; r < kBlock; ++r)
      _mm512_storeu_si512(rows + r * kBlock, rounded(z + r * stride, z + r * stride + 16));
  if (!pairs && !columns) return;
  const __m512i order = _mm512_load_si512(kInterleave);
  for (int half = 0; half < 2; ++half) {
    __m512i words[16];  // of rows 2 i and 2 i + 1
    for (int i = 0; i < 16; ++i) {
      const float* const row = z + 2 * i * stride + 16 * half;
      words[i] = _mm512_permutexvar_epi16(order, rounded(row, row + stride));
      if (pairs) _mm512_storeu_si512(pairs + i * 2 * kBlock + half * kBlock, words[i]);
    }
    if (columns)
      store_transposed(words, reinterpret_cast<char*>(columns + 16 * half * column_stride),
                       column_stride * static_cast<std::int64_t>(sizeof(Bf16)));
  }
}

// --- AVX512_BF16

VELDT_BF16 inline __m512 dot(__m512 sum, const void* word, __m512i right) {
  const __m512i left = _mm512_set1_epi32(*static_cast<const int*>(word));
  return _mm512_dpbf16_ps(sum, (__m512bh)left, (__m512bh)right);
}

// Eight rows of sums, two registers each, that stay in registers: += left[i] right over `steps` pairs, left
// rows `row` bytes and steps `step` bytes apart.
struct Sums {
  __m512 s[8][2];
};
VELDT_BF16 inline __attribute__((always_inline)) void accumulate(Sums& sums, const char* left,
                                                                 std::int64_t row, std::int64_t step,
                                                                 const Bf16* right, std::int64_t steps) {
  for (std::int64_t k = 0; k < steps; ++k, left += step, right += 2 * kBlock) {
    const __m512i r0 = _mm512_loadu_si512(right), r1 = _mm512_loadu_si512(right + kBlock);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      sums.s[i][0] = dot(sums.s[i][0], left + i * row, r0);
      sums.s[i][1] = dot(sums.s[i][1], left + i * row, r1);
    }
  }
}

VELDT_BF16 void product_dp(const Bf16* a, std::int64_t panel_stride, std::int64_t panels, const Bf16* w,
                           const float* bias, float* z, std::int64_t stride) {
  for (std::int64_t r = 0; r < kBlock; r += 8, a += 8 * kBlock, z += 8 * stride) {
    Sums sums;
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      sums.s[i][0] = _mm512_loadu_ps(bias);
      sums.s[i][1] = _mm512_loadu_ps(bias + 16);
    }
    for (std::int64_t p = 0; p < panels; ++p)
      accumulate(sums, reinterpret_cast<const char*>(a + p * panel_stride), kBlock * sizeof(Bf16),
                 2 * sizeof(Bf16), w + p * kBlock * kBlock, kBlock / 2);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      _mm512_storeu_ps(z + i * stride, sums.s[i][0]);
      _mm512_storeu_ps(z + i * stride + 16, sums.s[i][1]);
    }
  }
}

VELDT_BF16 void outer_dp(const Bf16* d, std::int64_t, const Bf16* a, std::int64_t rows, float* out) {
  for (std::int64_t n = 0; n < kBlock; n += 8, out += 8 * kBlock) {
    Sums sums;
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      sums.s[i][0] = _mm512_loadu_ps(out + i * kBlock);
      sums.s[i][1] = _mm512_loadu_ps(out + i * kBlock + 16);
    }
    accumulate(sums, reinterpret_cast<const char*>(d + 2 * n), 2 * sizeof(Bf16), 2 * kBlock * sizeof(Bf16), a,
               rows / 2);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      _mm512_storeu_ps(out + i * kBlock, sums.s[i][0]);
      _mm512_storeu_ps(out + i * kBlock + 16, sums.s[i][1]);
    }
  }
}

void nothing() {}

// --- AMX: eight tiles of 16 rows of 64 bytes; four hold sums, two a left side and two a right one.

VELDT_AMX void product_amx(const Bf16* a, std::int64_t panel_stride, std::int64_t panels, const Bf16* w,
                           const float* bias, float* z, std::int64_t stride) {
  amx::memory_is_read();
  _tile_loadd(0, bias, 0);  // a step of 0 gives every row the same 16 numbers
  _tile_loadd(1, bias + 16, 0);
  _tile_loadd(2, bias, 0);
  _tile_loadd(3, bias + 16, 0);
  for (std::int64_t p = 0; p < panels; ++p, a += panel_stride, w += kBlock * kBlock) {
    _tile_loadd(4, a, 64);
    _tile_loadd(6, w, 128);
    _tile_loadd(7, w + kBlock, 128);
    _tile_loadd(5, a + 16 * kBlock, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  const std::int64_t bytes = stride * static_cast<std::int64_t>(sizeof(float));
  _tile_stored(0, z, bytes);
  _tile_stored(1, z + 16, bytes);
  _tile_stored(2, z + 16 * stride, bytes);
  _tile_stored(3, z + 16 * stride + 16, bytes);
  amx::memory_is_read();
}

VELDT_AMX void outer_amx(const Bf16* d, std::int64_t column_stride, const Bf16* a, std::int64_t rows,
                         float* out) {
  amx::memory_is_read();
  _tile_loadd(0, out, 128);
  _tile_loadd(1, out + 16, 128);
  _tile_loadd(2, out + 16 * kBlock, 128);
  _tile_loadd(3, out + 16 * kBlock + 16, 128);
  const std::int64_t bytes = column_stride * static_cast<std::int64_t>(sizeof(Bf16));
  for (std::int64_t r = 0; r < rows; r += kBlock) {
    _tile_loadd(4, d + r, bytes);
    _tile_loadd(6, a + r * kBlock, 128);
    _tile_loadd(7, a + r * kBlock + kBlock, 128);
    _tile_loadd(5, d + 16 * column_stride + r, bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, out, 128);
  _tile_stored(1, out + 16, 128);
  _tile_stored(2, out + 16 * kBlock, 128);
  _tile_stored(3, out + 16 * kBlock + 16, 128);
  amx::memory_is_read();
}

constexpr Bf16Kernels kDot = {false, nothing, nothing, product_dp, outer_dp, pack};
constexpr Bf16Kernels kAmx = {true, amx::begin, amx::end, product_amx, outer_amx, pack};

}  // namespace

const Bf16Kernels* bf16_kernels() {
  static const Bf16Kernels* const kernels = []() -> const Bf16Kernels* {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512bw") || !bf16_finish())
      return nullptr;
    return amx::has(amx::kBf16) && amx::tiles_are_lent() ? &kAmx : &kDot;
  }();
  return kernels;
}

}  // namespace veldt::cpu

#else
namespace veldt::cpu {
const Bf16Kernels* bf16_kernels() { return nullptr; }
}  // namespace veldt::cpu
#endif
