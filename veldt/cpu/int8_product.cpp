// The portable product of integers, by pairs of 16 bits, and the conversions around each of them.
#include "veldt/cpu/int8_product.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/int8_product.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/room.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Four rows of two registers of sums, each lane of two of the four terms of a column.
template <int kRows>
HWY_INLINE void accumulate(const std::int16_t* a, std::int64_t a_row, std::int64_t depth,
                           const std::int8_t* panel, std::int32_t* sums) {
  const hn::ScalableTag<std::int16_t> d16;
  const hn::ScalableTag<std::int32_t> d32;
  const hn::ScalableTag<std::uint64_t> d64;
  const hn::Rebind<std::int8_t, decltype(d16)> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d16));
  using V = hn::Vec<decltype(d32)>;
  for (std::int64_t from = 0; from < 4 * kInt8Block; from += 2 * lanes) {
    V s0[kRows], s1[kRows], t0[kRows], t1[kRows];
    for (int r = 0; r < kRows; ++r) s0[r] = s1[r] = t0[r] = t1[r] = hn::Zero(d32);
    const std::int8_t* w = panel + from;
    for (std::int64_t k = 0; k < depth; k += 4, w += 4 * kInt8Block) {
      const auto w0 = hn::PromoteTo(d16, hn::LoadU(d8, w)), w1 = hn::PromoteTo(d16, hn::LoadU(d8, w + lanes));
      for (int r = 0; r < kRows; ++r) {
        std::uint64_t four;
        std::memcpy(&four, a + r * a_row + k, sizeof four);
        const auto x = hn::BitCast(d16, hn::Set(d64, four));
        s0[r] = hn::ReorderWidenMulAccumulate(d32, x, w0, s0[r], t0[r]);
        s1[r] = hn::ReorderWidenMulAccumulate(d32, x, w1, s1[r], t1[r]);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      std::int32_t* const to = sums + r * 2 * kInt8Block + from / 2;
      hn::StoreU(hn::RearrangeToOddPlusEven(s0[r], t0[r]), d32, to);
      hn::StoreU(hn::RearrangeToOddPlusEven(s1[r], t1[r]), d32, to + lanes / 2);
    }
  }
}

void product(const std::uint8_t* a, std::int64_t a_row, std::int64_t rows, std::int64_t depth,
             const std::int8_t* panel, std::int32_t* c) {
  const std::int64_t row = (depth + kInt8Depth - 1) / kInt8Depth * kInt8Depth;
  thread_local Room<std::int16_t> room;
  std::int16_t* const wide = room.of(kInt8Block * row, "a product of integers");
  const hn::ScalableTag<std::int16_t> d16;
  const hn::ScalableTag<std::int32_t> d32;
  const hn::Rebind<std::uint8_t, decltype(d16)> d8;
  const auto wide_lanes = static_cast<std::int64_t>(hn::Lanes(d16)), lanes = wide_lanes / 2;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t k = 0; k < depth; k += wide_lanes)
      hn::StoreU(hn::PromoteTo(d16, hn::LoadU(d8, a + r * a_row + k)), d16, wide + r * row + k);
  HWY_ALIGN std::int32_t sums[4 * 2 * kInt8Block];
  for (std::int64_t r = 0; r < rows; r += 4) {
    const std::int64_t count = std::min<std::int64_t>(4, rows - r);
    if (count == 4)
      accumulate<4>(wide + r * row, row, depth, panel, sums);
    else
      for (std::int64_t i = 0; i < count; ++i)
        accumulate<1>(wide + (r + i) * row, row, depth, panel, sums + i * 2 * kInt8Block);
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; j < kInt8Block; j += lanes) {
        const std::int32_t* const two = sums + (i * kInt8Block + j) * 2;
        const auto low = hn::LoadU(d32, two), high = hn::LoadU(d32, two + lanes);
        hn::StoreU(hn::Add(hn::ConcatEven(d32, high, low), hn::ConcatOdd(d32, high, low)), d32,
                   c + (r + i) * kInt8Block + j);
      }
  }
}

void range(const float* x, std::int64_t n, float* low, float* high) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto least = hn::Zero(d), most = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    // In this order a NaN leaves what was found: x86 gives the second operand.
    least = hn::Min(v, least);
    most = hn::Max(v, most);
  }
  *low = hn::GetLane(hn::MinOfLanes(d, least));
  *high = hn::GetLane(hn::MaxOfLanes(d, most));
  for (; i < n; ++i) {
    *low = x[i] < *low ? x[i] : *low;
    *high = x[i] > *high ? x[i] : *high;
  }
}

void bytes(const float* x, std::int64_t n, Affine8 as, std::uint8_t* to) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto inverse = hn::Set(d, 1 / as.scale), zero = hn::Set(d, as.zero), most = hn::Set(d, 255.0F);
  // Bounded before it becomes an integer: Max gives its second operand for a NaN, or a NaN, which
  // NearestInt's lowest number makes 0.
  const auto rounded = [&](auto v) HWY_ATTR {
    const auto near = hn::Round(hn::Mul(v, inverse));
    return hn::NearestInt(hn::Min(hn::Max(hn::Add(near, zero), hn::Zero(d)), most));
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::DemoteTo(d8, rounded(hn::LoadU(d, x + i))), d8, to + i);
  if (i == n) return;
  HWY_ALIGN float last[HWY_MAX_BYTES / sizeof(float)] = {};
  HWY_ALIGN std::uint8_t done[HWY_MAX_BYTES];
  std::copy(x + i, x + n, last);
  hn::StoreU(hn::DemoteTo(d8, rounded(hn::LoadU(d, last))), d8, done);
  std::copy_n(done, n - i, to + i);
}

// A register of a row's sums as numbers.
template <class D>
HWY_INLINE hn::Vec<D> finished(D d, const std::int32_t* c, const Affine8& x, const Int8Finish& f,
                               std::int64_t j) {
  const hn::RebindToSigned<D> whole;
  const auto zero = hn::Set(whole, static_cast<std::int32_t>(x.zero));
  const auto sum = hn::Sub(hn::LoadU(whole, c), hn::Mul(zero, hn::LoadU(whole, f.w_sum + j)));
  const auto scale = hn::Mul(hn::Set(d, x.scale), hn::LoadU(d, f.w_scale + j));
  const auto y = hn::Add(hn::Mul(hn::ConvertTo(d, sum), scale), hn::LoadU(d, f.bias + j));
  return hn::Min(hn::Max(y, hn::Set(d, f.low)), hn::Set(d, f.high));
}

// n below 64, in pieces of 8, 4, 2 and 1, which are a move each.
template <class T> HWY_INLINE void copy_few(const T* from, std::int64_t n, T* to) {
  for (; n >= 8; n -= 8, from += 8, to += 8) std::memcpy(to, from, 8 * sizeof(T));
  if (n & 4) std::memcpy(to, from, 4 * sizeof(T)), from += 4, to += 4;
  if (n & 2) std::memcpy(to, from, 2 * sizeof(T)), from += 2, to += 2;
  if (n & 1) *to = *from;
}

// The last register of a row is whole in `c`, which has 32 columns, but not where it goes.
template <class D, class Store>
HWY_INLINE void finish_rows(D d, const Int8Rows& s, const Int8Finish& f, const Store& store) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < s.rows; ++r)
    for (std::int64_t j = 0; j < s.columns; j += lanes)
      store(r, j, std::min(lanes, s.columns - j), finished(d, s.c + r * kInt8Block + j, s.affine[r], f, j));
}

void numbers_of_rows(const Int8Rows& s, const Int8Finish& f, float* to, std::int64_t to_row) {
  const hn::CappedTag<float, 16> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  finish_rows(d, s, f, [&](std::int64_t r, std::int64_t j, std::int64_t n, auto y) HWY_ATTR {
    float* const at = to + r * to_row + j;
    if (n == lanes) return hn::StoreU(y, d, at);
    HWY_ALIGN float last[16];
    hn::StoreU(y, d, last);
    copy_few(last, n, at);
  });
}

void bytes_of_rows(const Int8Rows& s, const Int8Finish& f, Affine8 as, std::uint8_t* to,
                   std::int64_t to_row) {
  const hn::CappedTag<float, 16> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto inverse = hn::Set(d, 1 / as.scale), zero = hn::Set(d, as.zero), most = hn::Set(d, 255.0F);
  finish_rows(d, s, f, [&](std::int64_t r, std::int64_t j, std::int64_t n, auto y) HWY_ATTR {
    const auto near = hn::Add(hn::Round(hn::Mul(y, inverse)), zero);
    const auto q = hn::DemoteTo(d8, hn::NearestInt(hn::Min(hn::Max(near, hn::Zero(d)), most)));
    std::uint8_t* const at = to + r * to_row + j;
    if (n == lanes) return hn::StoreU(q, d8, at);
    HWY_ALIGN std::uint8_t last[64];
    hn::StoreU(q, d8, last);
    copy_few(last, n, at);
  });
}

}  // namespace
}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(product);
VELDT_EXPORT(range);
VELDT_EXPORT(bytes);
VELDT_EXPORT(numbers_of_rows);
VELDT_EXPORT(bytes_of_rows);

void nothing_to_begin() {}
void dispatched(const std::uint8_t* a, std::int64_t a_row, std::int64_t rows, std::int64_t depth,
                const std::int8_t* panel, std::int32_t* c) {
  VELDT_DISPATCH(product)(a, a_row, rows, depth, panel, c);
}

}  // namespace

const Int8Kernels& portable_int8_kernels() {
  static constexpr Int8Kernels kernels{"Highway", 4, nothing_to_begin, nothing_to_begin, dispatched};
  return kernels;
}

const Int8Kernels& int8_kernels() {
  if (instruction_set_in_use() != InstructionSet::avx3) return portable_int8_kernels();
  if (const Int8Kernels* amx = amx_int8_kernels()) return *amx;
  if (const Int8Kernels* vnni = vnni_int8_kernels()) return *vnni;
  return portable_int8_kernels();
}

Affine8 affine8_of(float low, float high) {
  const float span = high - low;
  if (!(span > 0)) return {1, 0};
  // A denormal scale would have no inverse.
  const float scale = std::max(span / 255, std::numeric_limits<float>::min());
  return {scale, std::nearbyint(std::clamp(-low / scale, 0.0F, 255.0F))};
}

void range_of_numbers(const float* x, std::int64_t n, float* low, float* high) {
  VELDT_DISPATCH(range)(x, n, low, high);
}
void to_bytes(const float* x, std::int64_t n, Affine8 as, std::uint8_t* to) {
  VELDT_DISPATCH(bytes)(x, n, as, to);
}
void finish_numbers(const Int8Rows& sums, const Int8Finish& f, float* to, std::int64_t to_row) {
  VELDT_DISPATCH(numbers_of_rows)(sums, f, to, to_row);
}
void finish_bytes(const Int8Rows& sums, const Int8Finish& f, Affine8 as, std::uint8_t* to,
                  std::int64_t to_row) {
  VELDT_DISPATCH(bytes_of_rows)(sums, f, as, to, to_row);
}

}  // namespace veldt::cpu
#endif
