// The small transforms of Winograd's convolution F(4x4, 3x3) on vectors of channels, and the way between
// planes of pixels and such vectors. Matrices: Lavin & Gray 2016, "Fast Algorithms for Convolutional Neural
// Networks", of the points 0, 1, -1, 2, -2.
// Tests: tests/cpu/winograd_test.cpp
#if defined(VELDT_CPU_WINOGRAD_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_CPU_WINOGRAD_TILE_INL
#undef VELDT_CPU_WINOGRAD_TILE_INL
#else
#define VELDT_CPU_WINOGRAD_TILE_INL
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using WinogradTag = hn::ScalableTag<float>;
using WinogradVec = hn::Vec<WinogradTag>;
inline constexpr std::int64_t kWinogradLanes = static_cast<std::int64_t>(hn::MaxLanes(WinogradTag()));

HWY_INLINE WinogradVec winograd_load(const float* from) { return hn::Load(WinogradTag(), from); }
HWY_INLINE void winograd_put(WinogradVec v, float* to) { hn::Store(v, WinogradTag(), to); }
HWY_INLINE WinogradVec winograd_set(float value) { return hn::Set(WinogradTag(), value); }

// Each reads elements `from` apart and writes elements `to` apart.

// B^T d: six pixels to six.
HWY_INLINE void winograd_of_input(const float* d, std::int64_t from, float* t, std::int64_t to) {
  const WinogradVec d0 = winograd_load(d), d1 = winograd_load(d + from), d2 = winograd_load(d + 2 * from),
                    d3 = winograd_load(d + 3 * from), d4 = winograd_load(d + 4 * from),
                    d5 = winograd_load(d + 5 * from);
  const WinogradVec four = winograd_set(4), five = winograd_set(5), two = winograd_set(2);
  const WinogradVec a = hn::NegMulAdd(four, d2, d4), b = hn::NegMulAdd(four, d1, d3);
  const WinogradVec c = hn::Sub(d4, d2), e = hn::Mul(two, hn::Sub(d3, d1));
  winograd_put(hn::MulAdd(four, d0, hn::NegMulAdd(five, d2, d4)), t);
  winograd_put(hn::Add(a, b), t + to);
  winograd_put(hn::Sub(a, b), t + 2 * to);
  winograd_put(hn::Add(c, e), t + 3 * to);
  winograd_put(hn::Sub(c, e), t + 4 * to);
  winograd_put(hn::MulAdd(four, d1, hn::NegMulAdd(five, d3, d5)), t + 5 * to);
}

// A y: four gradients to six.
HWY_INLINE void winograd_of_gradient(const float* y, std::int64_t from, float* t, std::int64_t to) {
  const WinogradVec y0 = winograd_load(y), y1 = winograd_load(y + from), y2 = winograd_load(y + 2 * from),
                    y3 = winograd_load(y + 3 * from);
  const WinogradVec even = hn::Add(y0, y2), odd = hn::Add(y1, y3);
  const WinogradVec even2 = hn::MulAdd(winograd_set(4), y2, y0),
                    odd2 = hn::MulAdd(winograd_set(8), y3, hn::Mul(winograd_set(2), y1));
  winograd_put(y0, t);
  winograd_put(hn::Add(even, odd), t + to);
  winograd_put(hn::Sub(even, odd), t + 2 * to);
  winograd_put(hn::Add(even2, odd2), t + 3 * to);
  winograd_put(hn::Sub(even2, odd2), t + 4 * to);
  winograd_put(y3, t + 5 * to);
}

struct WinogradFour {
  WinogradVec y0, y1, y2, y3;
};
// A^T m: six sums to four outputs.
HWY_INLINE WinogradFour winograd_outputs(const float* m, std::int64_t from) {
  const WinogradVec m1 = winograd_load(m + from), m2 = winograd_load(m + 2 * from),
                    m3 = winograd_load(m + 3 * from), m4 = winograd_load(m + 4 * from);
  const WinogradVec s = hn::Add(m1, m2), d = hn::Sub(m1, m2), s2 = hn::Add(m3, m4), d2 = hn::Sub(m3, m4);
  return {hn::Add(winograd_load(m), hn::Add(s, s2)), hn::MulAdd(winograd_set(2), d2, d),
          hn::MulAdd(winograd_set(4), s2, s),
          hn::Add(hn::MulAdd(winograd_set(8), d2, d), winograd_load(m + 5 * from))};
}

// G w: three weights to six.
HWY_INLINE void winograd_of_weights(const float* w, std::int64_t from, float* t, std::int64_t to) {
  const WinogradVec w0 = winograd_load(w), w1 = winograd_load(w + from), w2 = winograd_load(w + 2 * from);
  const WinogradVec sixth = winograd_set(-1.0f / 6), even = hn::Mul(sixth, hn::Add(w0, w2)),
                    odd = hn::Mul(sixth, w1);
  const WinogradVec even2 = hn::MulAdd(winograd_set(1.0f / 24), w0, hn::Mul(winograd_set(1.0f / 6), w2)),
                    odd2 = hn::Mul(winograd_set(1.0f / 12), w1);
  winograd_put(hn::Mul(winograd_set(0.25f), w0), t);
  winograd_put(hn::Add(even, odd), t + to);
  winograd_put(hn::Sub(even, odd), t + 2 * to);
  winograd_put(hn::Add(even2, odd2), t + 3 * to);
  winograd_put(hn::Sub(even2, odd2), t + 4 * to);
  winograd_put(w2, t + 5 * to);
}

// G^T m: six sums to the gradients of three weights.
HWY_INLINE void winograd_weights(const float* m, std::int64_t from, float* w, std::int64_t to) {
  const WinogradVec m1 = winograd_load(m + from), m2 = winograd_load(m + 2 * from),
                    m3 = winograd_load(m + 3 * from), m4 = winograd_load(m + 4 * from);
  const WinogradVec sixth = winograd_set(1.0f / 6), s = hn::Mul(sixth, hn::Add(m1, m2)), s2 = hn::Add(m3, m4);
  winograd_put(
      hn::Sub(hn::MulAdd(winograd_set(1.0f / 24), s2, hn::Mul(winograd_set(0.25f), winograd_load(m))), s), w);
  winograd_put(hn::MulAdd(winograd_set(1.0f / 12), hn::Sub(m3, m4), hn::Mul(sixth, hn::Sub(m2, m1))), w + to);
  winograd_put(hn::Add(hn::Sub(hn::Mul(sixth, s2), s), winograd_load(m + 5 * from)), w + 2 * to);
}

// Four registers as 4x4 blocks, each block transposed.
HWY_INLINE WinogradFour winograd_transposed(const WinogradFour& v) {
  const WinogradTag d;
  const WinogradVec low02 = hn::InterleaveLower(d, v.y0, v.y2), low13 = hn::InterleaveLower(d, v.y1, v.y3);
  const WinogradVec up02 = hn::InterleaveUpper(d, v.y0, v.y2), up13 = hn::InterleaveUpper(d, v.y1, v.y3);
  return {hn::InterleaveLower(d, low02, low13), hn::InterleaveUpper(d, low02, low13),
          hn::InterleaveLower(d, up02, up13), hn::InterleaveUpper(d, up02, up13)};
}

// The first `count` blocks of four numbers, each stored `stride` after the one before; of a block the first
// `width` numbers.
template <class D, class V>
HWY_INLINE void winograd_store_blocks(D d, V v, float* to, std::int64_t stride, std::int64_t count,
                                      std::int64_t width) {
  if constexpr (hn::MaxLanes(d) > 4) {
    const hn::Half<D> half;
    constexpr auto kBlocks = static_cast<std::int64_t>(hn::MaxLanes(half) / 4);
    winograd_store_blocks(half, hn::LowerHalf(half, v), to, stride, count, width);
    if (count > kBlocks)
      winograd_store_blocks(half, hn::UpperHalf(half, v), to + kBlocks * stride, stride, count - kBlocks,
                            width);
  } else if (width == 4) {
    hn::StoreU(v, d, to);
  } else {
    HWY_ALIGN float all[4];
    hn::Store(v, d, all);
    for (std::int64_t i = 0; i < width; ++i) to[i] = all[i];
  }
}

// One plane after another: channels of an example.
struct WinogradPlanes {
  const float* data;  // of the first channel
  const float* end;   // of all that may be read
  std::int64_t channels, height, width;
};

// A register of pixels, of which `count` may be read.
HWY_INLINE WinogradVec winograd_pixels(const WinogradPlanes& from, const float* at, std::int64_t count) {
  if (at + kWinogradLanes <= from.end) return hn::LoadU(WinogradTag(), at);
  HWY_ALIGN float some[kWinogradLanes] = {};
  std::memcpy(some, at, static_cast<std::size_t>(std::min(count, kWinogradLanes)) * sizeof(float));
  return winograd_load(some);
}

// A window of `cols` pixels of a row, as vectors of the first kWinogradLanes channels; zeros outside of the
// planes. `to` has room for kWinogradLanes more pixels.
HWY_INLINE void winograd_stage_row(const WinogradPlanes& from, std::int64_t y, std::int64_t x,
                                   std::int64_t cols, float* to) {
  constexpr std::int64_t kLanes = kWinogradLanes;
  const std::int64_t begin = std::clamp<std::int64_t>(-x, 0, cols),
                     end = y < 0 || y >= from.height ? begin
                                                     : std::clamp<std::int64_t>(from.width - x, begin, cols);
  const std::int64_t plane = from.height * from.width, channels = std::min(kLanes, from.channels);
  const WinogradVec zero = hn::Zero(WinogradTag());
  for (std::int64_t p = begin; p < end; p += kLanes) {
    const float* const at = from.data + y * from.width + x + p;
    const std::int64_t blocks = (std::min(kLanes, end - p) + 3) / 4;
    for (std::int64_t c = 0; c < kLanes; c += 4) {
      const auto row = [&](std::int64_t i) HWY_ATTR {
        return c + i < channels ? winograd_pixels(from, at + (c + i) * plane, end - p) : zero;
      };
      const WinogradFour t = winograd_transposed({row(0), row(1), row(2), row(3)});
      float* const out = to + p * kLanes + c;
      winograd_store_blocks(WinogradTag(), t.y0, out, 4 * kLanes, blocks, 4);
      winograd_store_blocks(WinogradTag(), t.y1, out + kLanes, 4 * kLanes, blocks, 4);
      winograd_store_blocks(WinogradTag(), t.y2, out + 2 * kLanes, 4 * kLanes, blocks, 4);
      winograd_store_blocks(WinogradTag(), t.y3, out + 3 * kLanes, 4 * kLanes, blocks, 4);
    }
  }
  for (std::int64_t p = 0; p < begin; ++p) winograd_put(zero, to + p * kLanes);
  for (std::int64_t p = end; p < cols; ++p) winograd_put(zero, to + p * kLanes);
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
