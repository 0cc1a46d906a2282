// Converts strided, transposed and half-precision operands to the dense rows that kernels take, and back.
// Plain loops, which the compiler vectorises for each target; transposed blocks are assembled in registers.
#include "veldt/cpu/stage.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/stage.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/kernels/convert.h"

HWY_BEFORE_NAMESPACE();
namespace veldt {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// With the strides as constants, so that the compiler knows how to load and to store.
template <std::int64_t kFrom, std::int64_t kTo, class T> void move_by(const T* f, T* t, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) t[i * kTo] = f[i * kFrom];
}

template <class T>
void move(const void* from, std::int64_t from_stride, void* to, std::int64_t to_stride, std::int64_t n) {
  const T* __restrict f = static_cast<const T*>(from);
  T* __restrict t = static_cast<T*>(to);
  if (to_stride == 1) {
    if (from_stride == 1) {
      std::memcpy(t, f, static_cast<std::size_t>(n) * sizeof(T));
      return;
    }
    if (from_stride == 0) {
      const T x = *f;
      for (std::int64_t i = 0; i < n; ++i) t[i] = x;
      return;
    }
    if (from_stride == -1) return move_by<-1, 1>(f, t, n);
    if (from_stride == 2) return move_by<2, 1>(f, t, n);
  }
  for (std::int64_t i = 0; i < n; ++i) t[i * to_stride] = f[i * from_stride];
}

// A square of as many lines as 16 bytes have elements.
template <class T> constexpr std::int64_t kSide = 16 / sizeof(T);

#if HWY_TARGET == HWY_SCALAR
template <class T>
HWY_INLINE void turn_square(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
  for (std::int64_t c = 0; c < kSide<T>; ++c)
    for (std::int64_t r = 0; r < kSide<T>; ++r) to[r * to_stride + c] = from[c * from_stride + r];
}
#else
// Interleaves line i with line i + half, log2(lines) times: each time the bits of an element's position,
// (line, lane), are rotated by one.
template <class T>
HWY_INLINE void turn_square(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
  constexpr std::int64_t kLines = kSide<T>;
  const hn::FixedTag<T, kLines> d;
  hn::Vec<decltype(d)> lines[kLines], next[kLines];
  for (std::int64_t i = 0; i < kLines; ++i) lines[i] = hn::LoadU(d, from + i * from_stride);
  for (std::int64_t step = 1; step < kLines; step *= 2) {
    for (std::int64_t i = 0; i < kLines / 2; ++i) {
      next[2 * i] = hn::InterleaveLower(d, lines[i], lines[i + kLines / 2]);
      next[2 * i + 1] = hn::InterleaveUpper(d, lines[i], lines[i + kLines / 2]);
    }
    for (std::int64_t i = 0; i < kLines; ++i) lines[i] = next[i];
  }
  for (std::int64_t i = 0; i < kLines; ++i) hn::StoreU(lines[i], d, to + i * to_stride);
}
#endif

template <class T>
void turn(const void* from, std::int64_t from_stride, void* to, std::int64_t to_stride, std::int64_t rows,
          std::int64_t columns) {
  const T* f = static_cast<const T*>(from);
  T* t = static_cast<T*>(to);
  const std::int64_t whole_rows = rows / kSide<T> * kSide<T>, whole_columns = columns / kSide<T> * kSide<T>;
  for (std::int64_t c = 0; c < whole_columns; c += kSide<T>) {
    for (std::int64_t r = 0; r < whole_rows; r += kSide<T>)
      turn_square(f + c * from_stride + r, from_stride, t + r * to_stride + c, to_stride);
    for (std::int64_t r = whole_rows; r < rows; ++r)
      for (std::int64_t i = c; i < c + kSide<T>; ++i) t[r * to_stride + i] = f[i * from_stride + r];
  }
  for (std::int64_t c = whole_columns; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r) t[r * to_stride + c] = f[c * from_stride + r];
}

template <class From, class To> void convert(const void* from, void* to, std::int64_t n) {
  const From* __restrict f = static_cast<const From*>(from);
  To* __restrict t = static_cast<To*>(to);
  for (std::int64_t i = 0; i < n; ++i) t[i] = scalar::store<To>(scalar::load(f[i]));
}

// Since AVX2 x86 converts IEEE halves by itself, with the same bits.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
void widen_f16(const void* from, void* to, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  const auto* f = static_cast<const hwy::float16_t*>(from);
  float* t = static_cast<float*>(to);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, f + i)), d, t + i);
  convert<scalar::Float16, float>(f + i, t + i, n - i);
}

void narrow_f16(const void* from, void* to, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  const float* f = static_cast<const float*>(from);
  auto* t = static_cast<hwy::float16_t*>(to);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, f + i)), half, t + i);
  convert<float, scalar::Float16>(f + i, t + i, n - i);
}
#else
void widen_f16(const void* from, void* to, std::int64_t n) { convert<scalar::Float16, float>(from, to, n); }
void narrow_f16(const void* from, void* to, std::int64_t n) { convert<float, scalar::Float16>(from, to, n); }
#endif

const cpu::Stage* stage_table() {
  using scalar::BFloat16;
  static const cpu::Stage table = {
      {&move<std::uint8_t>, &move<std::uint16_t>, &move<std::uint32_t>, &move<std::uint64_t>},
      {&turn<std::uint8_t>, &turn<std::uint16_t>, &turn<std::uint32_t>, &turn<std::uint64_t>},
      &convert<BFloat16, float>,
      &widen_f16,
      &convert<float, BFloat16>,
      &narrow_f16};
  return &table;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace veldt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt {
namespace {
VELDT_EXPORT(stage_table);
}
namespace cpu {

const Stage& stage() {
  static const Stage& best = *VELDT_DISPATCH(stage_table)();
  return best;
}

}  // namespace cpu
}  // namespace veldt
#endif
