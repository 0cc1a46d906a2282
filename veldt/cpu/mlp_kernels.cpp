// The f32 kernels of a fused stack of layers, compiled for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/mlp_kernels.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include "veldt/cpu/mlp_kernels.h"

#include <algorithm>

#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/mlp_activation-inl.h"
#include "veldt/cpu/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kPanel = MlpKernels::kPanel, kRows = MlpKernels::kRows;

// Registers of neighbouring columns in a tile of sums: with kRows rows it must leave room for a row of
// weights and one factor. 32 registers hold 6 x 4 of them, 16 hold 6 x 2.
constexpr int kWide = HWY_MAX_BYTES >= 64 || (HWY_ARCH_ARM && HWY_ARCH_ARM_A64) ? 4 : 2;
using Tag = hn::ScalableTag<float>;

template <int Wide>
HWY_INLINE void product_block(const float* a, std::int64_t panel_stride, std::int64_t steps, const float* w,
                              const float* bias, float* z) {
  RegisterTile<float, kRows, Wide> sums{RegisterRow<float, Wide>(bias)};
  for (; steps > 0; steps -= kPanel, a += panel_stride) {
    const std::int64_t n = std::min(steps, kPanel);
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < n; ++k, w += kPanel)
      sums.add_outer(a + k, kPanel, RegisterRow<float, Wide>(w));
  }
  sums.store(z, kPanel);
}

void product(const float* a, std::int64_t panel_stride, std::int64_t steps, const float* w, const float* bias,
             float* z, std::int64_t rows, std::int64_t columns) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(Tag()));
  for (std::int64_t r = 0; r < rows; r += kRows) {
    std::int64_t c = 0;
    for (; c + kWide * lanes <= columns; c += kWide * lanes)
      product_block<kWide>(a + r * kPanel, panel_stride, steps, w + c, bias + c, z + r * kPanel + c);
    for (; c < columns; c += lanes)
      product_block<1>(a + r * kPanel, panel_stride, steps, w + c, bias + c, z + r * kPanel + c);
  }
}

template <int Rows, int Wide>
HWY_INLINE void outer_block(const float* d, std::int64_t d_stride, const float* a, std::int64_t rows,
                            float* out) {
  RegisterTile<float, Rows, Wide> sums;
#pragma GCC unroll 4
  for (std::int64_t r = 0; r < rows; ++r)
    sums.add_outer(d + r * d_stride, 1, RegisterRow<float, Wide>(a + r * kPanel));
  sums.add_to(out, kPanel);
}

template <int Rows>
HWY_INLINE void outer_rows(const float* d, std::int64_t d_stride, const float* a, std::int64_t rows,
                           std::int64_t k, float* out) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(Tag()));
  std::int64_t c = 0;
  for (; c + kWide * lanes <= k; c += kWide * lanes)
    outer_block<Rows, kWide>(d, d_stride, a + c, rows, out + c);
  for (; c < k; c += lanes) outer_block<Rows, 1>(d, d_stride, a + c, rows, out + c);
}

void outer(const float* d, const float* a, std::int64_t rows, std::int64_t n, std::int64_t k, float* out) {
  // A panel is ten times six columns, and four.
  for (std::int64_t i = 0; i < n; i += kRows) {
    if (i + kRows <= kPanel)
      outer_rows<kRows>(d + i, kPanel, a, rows, k, out + i * kPanel);
    else
      outer_rows<kPanel % kRows>(d + i, kPanel, a, rows, k, out + i * kPanel);
  }
}

void outer_thin(const float* d, std::int64_t d_stride, const float* a, std::int64_t rows, std::int64_t n,
                std::int64_t k, float* out) {
  std::int64_t i = 0;
  for (; i + 2 <= n; i += 2) outer_rows<2>(d + i, d_stride, a, rows, k, out + i * kPanel);
  if (i < n) outer_rows<1>(d + i, d_stride, a, rows, k, out + i * kPanel);
}

template <class Act>
HWY_INLINE void activate_with(const Act act, float* z, float* slope, std::int64_t rows,
                              std::int64_t columns) {
  const Tag d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (columns == kPanel) {  // a whole panel is one long row
    columns = rows * kPanel;
    rows = 1;
  }
  for (std::int64_t r = 0; r < rows; ++r, z += kPanel) {
    for (std::int64_t c = 0; c < columns; c += lanes) {
      typename Act::F s(0);
      hn::StoreU(act(hn::LoadU(d, z + c), s).v, d, z + c);
      if (slope) hn::StoreU(s.v, d, slope + c);
    }
    if (slope) slope += kPanel;
  }
}

void activate(const MlpLayer& layer, float* z, float* slope, std::int64_t rows, std::int64_t columns) {
  with_activation<false>(layer, [&](const auto& act) { activate_with(act, z, slope, rows, columns); });
}

// `slope_of(row, column)` gives a register of slopes.
template <class SlopeOf>
HWY_INLINE void scale_and_sum_by(const SlopeOf slope_of, float* d, std::int64_t rows, std::int64_t columns,
                                 float* sums) {
  const Tag tag;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (std::int64_t c = 0; c < columns; c += lanes) {
    Vec sum = hn::LoadU(tag, sums + c);
    for (std::int64_t r = 0; r < rows; ++r) {
      const Vec x = hn::Mul(hn::LoadU(tag, d + r * kPanel + c), slope_of(r, c));
      hn::StoreU(x, tag, d + r * kPanel + c);
      sum = hn::Add(sum, x);
    }
    hn::StoreU(sum, tag, sums + c);
  }
}

void scale_and_sum(float* d, const float* slope, std::int64_t rows, std::int64_t columns, float* sums) {
  const Tag tag;
  if (slope)
    scale_and_sum_by([=](std::int64_t r, std::int64_t c) { return hn::LoadU(tag, slope + r * kPanel + c); },
                     d, rows, columns, sums);
  else
    scale_and_sum_by([=](std::int64_t, std::int64_t) { return hn::Set(tag, 1.0f); }, d, rows, columns, sums);
}

void scale_and_sum16(float* d, const std::uint16_t* slope, std::int64_t rows, std::int64_t columns,
                     float* sums) {
  const auto at = [=](std::int64_t r, std::int64_t c) {
    const hn::RebindToUnsigned<Tag> words;
    const hn::Rebind<std::uint16_t, Tag> halves;
    const auto half = hn::LoadU(halves, slope + r * columns + c);
    return hn::BitCast(Tag(), hn::ShiftLeft<16>(hn::PromoteTo(words, half)));
  };
  scale_and_sum_by(at, d, rows, columns, sums);
}

template <int N>
HWY_INLINE void thin_forward_of(const float* a, std::int64_t panel_stride, std::int64_t rows,
                                std::int64_t columns, const float* w, float* out) {
  const Tag d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < rows; ++r) {
    Vec s[N];
    for (int j = 0; j < N; ++j) s[j] = hn::Zero(d);
    const float *at = a + r * kPanel, *ws = w;
    for (std::int64_t left = columns; left > 0; left -= kPanel, at += panel_stride, ws += N * kPanel)
      for (std::int64_t c = 0; c < std::min(left, kPanel); c += lanes) {
        const Vec x = hn::LoadU(d, at + c);
        for (int j = 0; j < N; ++j) s[j] = hn::MulAdd(x, hn::LoadU(d, ws + j * kPanel + c), s[j]);
      }
    for (int j = 0; j < N; ++j) out[r * N + j] += hn::GetLane(hn::SumOfLanes(d, s[j]));
  }
}

void thin_forward(const float* a, std::int64_t panel_stride, std::int64_t rows, std::int64_t columns,
                  const float* w, std::int64_t n, float* out) {
  switch (n) {
    case 1: return thin_forward_of<1>(a, panel_stride, rows, columns, w, out);
    case 2: return thin_forward_of<2>(a, panel_stride, rows, columns, w, out);
    case 3: return thin_forward_of<3>(a, panel_stride, rows, columns, w, out);
    default: return thin_forward_of<4>(a, panel_stride, rows, columns, w, out);
  }
}

template <int N>
HWY_INLINE void thin_backward_of(const float* dy, std::int64_t rows, std::int64_t columns, const float* w,
                                 float* d) {
  const Tag tag;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  for (std::int64_t c = 0; c < columns; c += lanes) {
    Vec ws[N];
    for (int j = 0; j < N; ++j) ws[j] = hn::LoadU(tag, w + j * kPanel + c);
    for (std::int64_t r = 0; r < rows; ++r) {
      Vec s = hn::Mul(hn::Set(tag, dy[r * N]), ws[0]);
      for (int j = 1; j < N; ++j) s = hn::MulAdd(hn::Set(tag, dy[r * N + j]), ws[j], s);
      hn::StoreU(s, tag, d + r * kPanel + c);
    }
  }
}

void thin_backward(const float* dy, std::int64_t rows, std::int64_t columns, const float* w, std::int64_t n,
                   float* d) {
  switch (n) {
    case 1: return thin_backward_of<1>(dy, rows, columns, w, d);
    case 2: return thin_backward_of<2>(dy, rows, columns, w, d);
    case 3: return thin_backward_of<3>(dy, rows, columns, w, d);
    default: return thin_backward_of<4>(dy, rows, columns, w, d);
  }
}

const MlpKernels* kernels() {
  static constexpr MlpKernels table = {product,       outer,           outer_thin,   activate,
                                       scale_and_sum, scale_and_sum16, thin_forward, thin_backward};
  return &table;
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {

VELDT_EXPORT(kernels);

const MlpKernels& mlp_kernels() {
  static const MlpKernels* const table = VELDT_DISPATCH(kernels)();
  return *table;
}

}  // namespace veldt::cpu
#endif
