// Activates, scales and rounds blocks of sums in registers of 16 floats.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/mlp_bf16_finish.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include "veldt/cpu/mlp_bf16_finish.h"

#include "hwy/highway.h"
#include "veldt/cpu/mlp_activation-inl.h"

// A processor that has VDPBF16PS has all of Highway's AVX3, so the activations are Highway's and the rounding
// is the processor's.
#if HWY_ARCH_X86_64 && HWY_TARGET == HWY_AVX3
#include <immintrin.h>
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16")
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bf16 = std::uint16_t;
constexpr std::int64_t kBlock = 32;

HWY_INLINE __m512i rounded(Vec low, Vec high) { return (__m512i)_mm512_cvtne2ps_pbh(high.raw, low.raw); }

// Stores two rows with the words of their columns 0 to 15 and 16 to 31 interleaved by halves.
HWY_INLINE void store_pairs(__m512i even, __m512i odd, Bf16* to) {
  alignas(64) static constexpr std::uint16_t kOrder[2][32] = {
      {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
       8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47},
      {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
       24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63}};
  for (int half = 0; half < 2; ++half)
    _mm512_storeu_si512(to + half * kBlock,
                        _mm512_permutex2var_epi16(even, _mm512_load_si512(kOrder[half]), odd));
}

// One row of a block: f(z) as 32 words, and f'(z) stored unless slope is null.
template <class Act> HWY_INLINE __m512i activate_row(const Act& act, const float* z, Bf16* slope) {
  const Floats d;
  typename Act::F low(0), high(0);
  const auto y = act(hn::LoadU(d, z), low), y_high = act(hn::LoadU(d, z + 16), high);
  if (slope) _mm512_storeu_si512(slope, rounded(low.v, high.v));
  return rounded(y.v, y_high.v);
}

template <class Act>
HWY_INLINE void activate_with(const Act act, const float* z, std::int64_t stride, Bf16* rows, Bf16* pairs,
                              Bf16* slope) {
  for (std::int64_t r = 0; r < kBlock; r += 2, rows += 2 * kBlock) {
    const __m512i even = activate_row(act, z + r * stride, slope ? slope + r * kBlock : nullptr);
    const __m512i odd = activate_row(act, z + (r + 1) * stride, slope ? slope + (r + 1) * kBlock : nullptr);
    _mm512_storeu_si512(rows, even);
    _mm512_storeu_si512(rows + kBlock, odd);
    if (pairs) store_pairs(even, odd, pairs + r * kBlock);
  }
}

void activate_block(const MlpLayer& layer, const float* z, std::int64_t stride, Bf16* rows, Bf16* pairs,
                    Bf16* slope) {
  with_activation<true>(layer, [&](const auto& act) { activate_with(act, z, stride, rows, pairs, slope); });
}

HWY_INLINE Vec widened(const Bf16* words) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)));
  return Vec{_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}

void scale_block(float* d, std::int64_t stride, const Bf16* slope, float* sums, Bf16* rows, Bf16* pairs) {
  const Floats tag;
  Vec low = hn::LoadU(tag, sums), high = hn::LoadU(tag, sums + 16);
  const auto scaled_row = [&](std::int64_t r) {
    float* const at = d + r * stride;
    Vec x = hn::LoadU(tag, at), x_high = hn::LoadU(tag, at + 16);
    if (slope) {
      x = hn::Mul(x, widened(slope + r * kBlock));
      x_high = hn::Mul(x_high, widened(slope + r * kBlock + 16));
    }
    if (!pairs) {
      hn::StoreU(x, tag, at);
      hn::StoreU(x_high, tag, at + 16);
    }
    low = hn::Add(low, x);
    high = hn::Add(high, x_high);
    const __m512i words = rounded(x, x_high);
    _mm512_storeu_si512(rows + r * kBlock, words);
    return words;
  };
  for (std::int64_t r = 0; r < kBlock; r += 2) {
    const __m512i even = scaled_row(r), odd = scaled_row(r + 1);
    if (pairs) store_pairs(even, odd, pairs + r * kBlock);
  }
  hn::StoreU(low, tag, sums);
  hn::StoreU(high, tag, sums + 16);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_POP_ATTRIBUTES
#endif

#if HWY_ONCE
namespace veldt::cpu {

#if HWY_ARCH_X86_64 && (HWY_TARGETS & HWY_AVX3)
const Bf16Finish* bf16_finish() {
  static constexpr Bf16Finish finish = {N_AVX3::activate_block, N_AVX3::scale_block};
  return &finish;
}
#else
const Bf16Finish* bf16_finish() { return nullptr; }
#endif

}  // namespace veldt::cpu
#endif
