// Convolutions of each channel by itself, of integers of 8 bits with channels last; and products of
// floats with integers.
#include "veldt/cpu/int8_loops.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/int8_loops.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Each number in the lower half of its 32 bits: the products of the upper halves are 0.
void sum_taps(const std::uint8_t* const* x, const std::int8_t* w, std::int64_t taps, std::int64_t channels,
              std::int32_t* c) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::RepartitionToNarrow<decltype(d)> pairs;
  const hn::Rebind<std::uint8_t, decltype(d)> u8;
  const hn::Rebind<std::int8_t, decltype(d)> s8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t j = 0;
  for (; j + lanes <= channels; j += lanes) {
    auto sum = hn::Zero(d), other = hn::Zero(d);
    for (std::int64_t t = 0; t < taps; ++t) {
      const auto a = hn::BitCast(pairs, hn::PromoteTo(d, hn::LoadU(u8, x[t] + j)));
      const auto b = hn::BitCast(pairs, hn::PromoteTo(d, hn::LoadU(s8, w + t * channels + j)));
      sum = hn::ReorderWidenMulAccumulate(d, a, b, sum, other);
    }
    hn::StoreU(hn::RearrangeToOddPlusEven(sum, other), d, c + j);
  }
  for (; j < channels; ++j) {
    c[j] = 0;
    for (std::int64_t t = 0; t < taps; ++t)
      c[j] += static_cast<std::int32_t>(x[t][j]) * static_cast<std::int32_t>(w[t * channels + j]);
  }
}

// Numbers i .. of a group of 32, as floats. Of 4 bits: number i is in the lower half of byte i, and number 16
// + i in its upper half.
template <class D> HWY_INLINE auto numbers(D d, const std::int8_t* group, std::int64_t i) {
  return hn::ConvertTo(
      d, hn::PromoteTo(hn::RebindToSigned<D>(), hn::LoadU(hn::Rebind<std::int8_t, D>(), group + i)));
}
template <class D> HWY_INLINE auto numbers(D d, const std::uint8_t* group, std::int64_t i) {
  const hn::RebindToSigned<D> whole;
  const auto both = hn::PromoteTo(whole, hn::LoadU(hn::Rebind<std::uint8_t, D>(), group + i % 16));
  const auto q = i < 16 ? hn::And(both, hn::Set(whole, 15)) : hn::ShiftRight<4>(both);
  return hn::ConvertTo(d, hn::Sub(q, hn::Set(whole, 8)));
}
template <class Q> constexpr std::int64_t kGroupBytes = sizeof(Q) == 1 && std::is_signed_v<Q> ? 32 : 16;

template <class Q>
void decode(const Q* w, const float* scale, std::int64_t scale_step, std::int64_t k, float* to) {
  const hn::CappedTag<float, 16> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t at = 0;
  for (; at + kNarrowGroup <= k; at += kNarrowGroup, w += kGroupBytes<Q>, scale += scale_step)
    for (std::int64_t i = 0; i < kNarrowGroup; i += lanes)
      hn::StoreU(hn::Mul(numbers(d, w, i), hn::Set(d, *scale)), d, to + at + i);
  if constexpr (std::is_signed_v<Q>)
    for (; at < k; ++at, ++w) to[at] = static_cast<float>(*w) * *scale;
}

// Each group's product is summed before it is scaled.
template <int kRows, class Q>
HWY_INLINE void dots_of(const float* x, std::int64_t x_row, const Q* w, const float* scale,
                        std::int64_t scale_step, std::int64_t k, float* out, std::int64_t out_row) {
  const hn::CappedTag<float, 16> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kRows];
  for (int r = 0; r < kRows; ++r) sums[r] = hn::Zero(d);
  std::int64_t at = 0;
  for (; at + kNarrowGroup <= k; at += kNarrowGroup, w += kGroupBytes<Q>, scale += scale_step) {
    hn::Vec<decltype(d)> of_group[kRows];
    for (int r = 0; r < kRows; ++r) of_group[r] = hn::Zero(d);
    for (std::int64_t i = 0; i < kNarrowGroup; i += lanes) {
      const auto q = numbers(d, w, i);
      for (int r = 0; r < kRows; ++r)
        of_group[r] = hn::MulAdd(hn::LoadU(d, x + r * x_row + at + i), q, of_group[r]);
    }
    const auto s = hn::Set(d, *scale);
    for (int r = 0; r < kRows; ++r) sums[r] = hn::MulAdd(of_group[r], s, sums[r]);
  }
  for (int r = 0; r < kRows; ++r) {
    float sum = hn::GetLane(hn::SumOfLanes(d, sums[r]));
    if constexpr (std::is_signed_v<Q>)
      for (std::int64_t i = at; i < k; ++i) sum += x[r * x_row + i] * static_cast<float>(w[i - at]) * *scale;
    out[r * out_row] = sum;
  }
}

template <class Q>
void dots(const float* x, std::int64_t x_row, std::int64_t rows, const Q* w, const float* scale,
          std::int64_t step, std::int64_t k, float* out, std::int64_t out_row) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4)
    dots_of<4>(x + r * x_row, x_row, w, scale, step, k, out + r * out_row, out_row);
  for (; r < rows; ++r) dots_of<1>(x + r * x_row, x_row, w, scale, step, k, out + r * out_row, out_row);
}

void decode_4(const std::uint8_t* w, const float* scale, std::int64_t k, float* to) {
  decode(w, scale, 1, k, to);
}
void decode_8(const std::int8_t* w, const float* scale, std::int64_t k, float* to) {
  decode(w, scale, 0, k, to);
}
void dots_4(const float* x, std::int64_t x_row, std::int64_t rows, const std::uint8_t* w, const float* scale,
            std::int64_t k, float* out, std::int64_t out_row) {
  dots(x, x_row, rows, w, scale, 1, k, out, out_row);
}
void dots_8(const float* x, std::int64_t x_row, std::int64_t rows, const std::int8_t* w, const float* scale,
            std::int64_t k, float* out, std::int64_t out_row) {
  dots(x, x_row, rows, w, scale, 0, k, out, out_row);
}

}  // namespace
}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(sum_taps);
VELDT_EXPORT(decode_4);
VELDT_EXPORT(decode_8);
VELDT_EXPORT(dots_4);
VELDT_EXPORT(dots_8);
}  // namespace

void depthwise_sums(const std::uint8_t* const* x, const std::int8_t* w, std::int64_t taps,
                    std::int64_t channels, std::int32_t* c) {
  VELDT_DISPATCH(sum_taps)(x, w, taps, channels, c);
}
void decode_row(const std::uint8_t* w, const float* scale, std::int64_t k, float* to) {
  VELDT_DISPATCH(decode_4)(w, scale, k, to);
}
void decode_row(const std::int8_t* w, const float* scale, std::int64_t k, float* to) {
  VELDT_DISPATCH(decode_8)(w, scale, k, to);
}
void narrow_dots(const float* x, std::int64_t x_row, std::int64_t rows, const std::uint8_t* w,
                 const float* scale, std::int64_t k, float* out, std::int64_t out_row) {
  VELDT_DISPATCH(dots_4)(x, x_row, rows, w, scale, k, out, out_row);
}
void narrow_dots(const float* x, std::int64_t x_row, std::int64_t rows, const std::int8_t* w,
                 const float* scale, std::int64_t k, float* out, std::int64_t out_row) {
  VELDT_DISPATCH(dots_8)(x, x_row, rows, w, scale, k, out, out_row);
}

}  // namespace veldt::cpu
#endif
