// The portable product of integers, by pairs of 16 bits, and the conversions around each of them.
#include "veldt/cpu/int8_product.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/int8_product.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/int8_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::CappedTag<std::int16_t, 2 * kWideColumns>;
using D32 = hn::RepartitionToWide<D16>;

// Sums of rows of two registers of columns, which stay in registers: recursive structures, because g++ keeps
// arrays in memory. A lane is a column, of which each step adds two terms.
template <int kRows> struct PairSums {
  hn::Vec<D32> low, low_rest, high, high_rest;
  PairSums<kRows - 1> rest;

  HWY_INLINE PairSums()
      : low(hn::Zero(D32())),
        low_rest(hn::Zero(D32())),
        high(hn::Zero(D32())),
        high_rest(hn::Zero(D32())),
        rest() {}
  HWY_INLINE void add(const std::int16_t* a, std::int64_t a_row, hn::Vec<D16> w_low, hn::Vec<D16> w_high) {
    std::int32_t two;
    std::memcpy(&two, a, sizeof two);
    const auto x = hn::BitCast(D16(), hn::Set(D32(), two));
    low = hn::ReorderWidenMulAccumulate(D32(), x, w_low, low, low_rest);
    high = hn::ReorderWidenMulAccumulate(D32(), x, w_high, high, high_rest);
    rest.add(a + a_row, a_row, w_low, w_high);
  }
  HWY_INLINE void store(std::int32_t* c) const {
    hn::StoreU(hn::RearrangeToOddPlusEven(low, low_rest), D32(), c);
    hn::StoreU(hn::RearrangeToOddPlusEven(high, high_rest), D32(), c + hn::Lanes(D32()));
    rest.store(c + kInt8Block);
  }
};
template <> struct PairSums<0> {
  HWY_INLINE PairSums() {}
  HWY_INLINE void add(const std::int16_t*, std::int64_t, hn::Vec<D16>, hn::Vec<D16>) {}
  HWY_INLINE void store(std::int32_t*) const {}
};

template <int kRows>
HWY_INLINE void sum_rows(const std::int16_t* a, std::int64_t a_row, std::int64_t depth,
                         const std::int16_t* low, const std::int16_t* high, std::int32_t* c) {
  PairSums<kRows> sums;
  for (std::int64_t k = 0; k < depth; k += 2, low += 2 * kWideColumns, high += 2 * kWideColumns)
    sums.add(a + k, a_row, hn::LoadU(D16(), low), hn::LoadU(D16(), high));
  sums.store(c);
}

constexpr std::int64_t kMostTogether = 6;  // rows: 12 registers of sums, of 16

void wide_product(const std::int16_t* a, std::int64_t a_row, std::int64_t rows, std::int64_t columns,
                  std::int64_t depth, const std::int16_t* panel, std::int64_t panel_depth, std::int32_t* c) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D32()));
  const std::int64_t groups = (rows + kMostTogether - 1) / kMostTogether;
  // Registers j and j + lanes of columns, which may be of both halves of the panel.
  for (std::int64_t j = 0; j < columns; j += 2 * lanes) {
    const auto at = [&](std::int64_t column) {
      return panel + column / kWideColumns * kWideColumns * panel_depth + column % kWideColumns * 2;
    };
    const std::int16_t *const low = at(j), *const high = at(j + lanes);
    for (std::int64_t g = 0, r = 0; g < groups; ++g) {
      const std::int64_t end = rows * (g + 1) / groups;
      const std::int16_t* const from = a + r * a_row;
      std::int32_t* const to = c + r * kInt8Block + j;
      switch (end - r) {
        case 1: sum_rows<1>(from, a_row, depth, low, high, to); break;
        case 2: sum_rows<2>(from, a_row, depth, low, high, to); break;
        case 3: sum_rows<3>(from, a_row, depth, low, high, to); break;
        case 4: sum_rows<4>(from, a_row, depth, low, high, to); break;
        case 5: sum_rows<5>(from, a_row, depth, low, high, to); break;
        default: sum_rows<6>(from, a_row, depth, low, high, to);
      }
      r = end;
    }
  }
}

// Of a step of wide_product().
std::int64_t wide_step() { return 2 * static_cast<std::int64_t>(hn::Lanes(D32())); }

void widen(const std::uint8_t* from, std::int64_t n, std::int16_t* to) {
  const hn::CappedTag<std::int16_t, 32> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(hn::Lanes(d)))
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(d8, from + i)), d, to + i);
}

void range(const float* x, std::int64_t n, float* low, float* high) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto least = hn::Zero(d), most = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    least = hn::Min(number_or(v, least), least);
    most = hn::Max(number_or(v, most), most);
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
  const ToBytes<decltype(d)> in_bytes(as);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(in_bytes(hn::LoadU(d, x + i)), d8, to + i);
  if (i == n) return;
  HWY_ALIGN float last[HWY_MAX_BYTES / sizeof(float)] = {};
  HWY_ALIGN std::uint8_t done[HWY_MAX_BYTES];
  std::copy(x + i, x + n, last);
  hn::StoreU(in_bytes(hn::LoadU(d, last)), d8, done);
  std::copy_n(done, n - i, to + i);
}

// n below 64, in pieces of 8, 4, 2 and 1, which are a move each.
template <class T> HWY_INLINE void copy_few(const T* from, std::int64_t n, T* to) {
  for (; n >= 8; n -= 8, from += 8, to += 8) std::memcpy(to, from, 8 * sizeof(T));
  if (n & 4) std::memcpy(to, from, 4 * sizeof(T)), from += 4, to += 4;
  if (n & 2) std::memcpy(to, from, 2 * sizeof(T)), from += 2, to += 2;
  if (n & 1) *to = *from;
}

// The last register of a row is whole in `c`, which has 32 columns, but not where it goes: there it may be
// stored only over what is stored later, in the next rows, so these columns come first. What belongs to
// columns stays in registers for the rows of one scale. store(place, how many of the register, register).
template <class D, class Store>
HWY_INLINE void finish_rows(D d, const Int8Rows& s, const Int8Finish& f, std::int64_t to_row,
                            const Store& store) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t end = to_row == s.columns ? s.rows * to_row : 0;
  const auto low = hn::Set(d, f.low), high = hn::Set(d, f.high);
  for (std::int64_t last = (s.columns - 1) / lanes * lanes, j = last, next = 0; j >= 0;
       j = next < last ? next : -1, next += lanes) {
    const std::int64_t count = std::min(lanes, s.columns - j);
    Affine8 as = s.affine[0];
    ColumnNumbers<D> numbers(as, f, j);
    for (std::int64_t r = 0; r < s.rows; ++r) {
      if (const Affine8 own = s.affine[r]; own.scale != as.scale || own.zero != as.zero)
        numbers = ColumnNumbers<D>(as = own, f, j);
      const std::int64_t place = r * to_row + j;
      store(place, place + lanes <= end ? lanes : count,
            // In this order NaN stays NaN, on x86 too.
            hn::Min(high, hn::Max(low, numbers(s.c + r * kInt8Block + j))));
    }
  }
}

void numbers_of_rows(const Int8Rows& s, const Int8Finish& f, float* to, std::int64_t to_row) {
  const hn::CappedTag<float, 16> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  finish_rows(d, s, f, to_row, [&](std::int64_t place, std::int64_t n, auto y) HWY_ATTR {
    float* const at = to + place;
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
  const ToBytes<decltype(d)> in_bytes(as);
  finish_rows(d, s, f, to_row, [&](std::int64_t place, std::int64_t n, auto y) HWY_ATTR {
    const auto q = in_bytes(y);
    std::uint8_t* const at = to + place;
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
VELDT_EXPORT(wide_product);
VELDT_EXPORT(wide_step);
VELDT_EXPORT(widen);
VELDT_EXPORT(range);
VELDT_EXPORT(bytes);
VELDT_EXPORT(numbers_of_rows);
VELDT_EXPORT(bytes_of_rows);

void nothing_to_begin() {}
void dispatched(const std::int16_t* a, std::int64_t a_row, std::int64_t rows, std::int64_t columns,
                std::int64_t depth, const std::int16_t* panel, std::int64_t panel_depth, std::int32_t* c) {
  VELDT_DISPATCH(wide_product)(a, a_row, rows, columns, depth, panel, panel_depth, c);
}

constinit std::atomic<const Int8Kernels*> g_kernels{nullptr};

const Int8Kernels& best_kernels(std::int64_t terms) {
  // Of fewer ones AMX's tiles take longer to fill and empty than VNNI's registers.
  constexpr std::int64_t kLeastForTiles = 128;
  const InstructionSet set = instruction_set_in_use();
  if (set == InstructionSet::base) return portable_int8_kernels();
  if (set == InstructionSet::avx3) {
    if (const Int8Kernels* amx = amx_int8_kernels(); amx && terms >= kLeastForTiles) return *amx;
    if (const Int8Kernels* vnni = vnni_int8_kernels()) return *vnni;
  }
  if (const Int8Kernels* vnni = avx_vnni_int8_kernels()) return *vnni;
  return portable_int8_kernels();
}

}  // namespace

const Int8Kernels& portable_int8_kernels() {
  static constexpr auto of = [](std::int64_t columns) {
    return Int8Kernels{"pairs of 16 bits", 2,       columns,   nothing_to_begin,
                       nothing_to_begin,   nullptr, dispatched};
  };
  static constexpr Int8Kernels kernels[] = {of(8), of(16), of(32)};
  const std::int64_t columns = VELDT_DISPATCH(wide_step)();
  return kernels[columns / kWideColumns];
}

void use_int8_kernels(const Int8Kernels* kernels) { g_kernels.store(kernels, std::memory_order_relaxed); }

const Int8Kernels& int8_kernels(std::int64_t terms) {
  const Int8Kernels* const set = g_kernels.load(std::memory_order_relaxed);
  return set ? *set : best_kernels(terms);
}

void widen_bytes(const std::uint8_t* from, std::int64_t n, std::int16_t* to) {
  VELDT_DISPATCH(widen)(from, n, to);
}

Affine8 affine8_of(float low, float high) {
  const float span = high - low;
  // Sums of such bytes, which are all 0, are 0 times infinity.
  if (!std::isfinite(span)) return {std::numeric_limits<float>::infinity(), 0};
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
