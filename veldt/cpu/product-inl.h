// Products on one thread and without packing: for kernels that keep both matrices in the cache. A row's bits
// do not depend on the other rows.
// Tests: tests/cpu/matmul_test.cpp, tests/cpu/lstm_test.cpp, tests/ops/attention_test.cpp
#if defined(VELDT_CPU_PRODUCT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_CPU_PRODUCT_INL
#undef VELDT_CPU_PRODUCT_INL
#else
#define VELDT_CPU_PRODUCT_INL
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "veldt/cpu/gemm.h"
#include "veldt/cpu/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Prefetches `count` elements that will be read soon. An address beyond the end does no harm.
template <class T> HWY_INLINE void fetch(const T* row, std::int64_t count) {
  for (std::int64_t j = 0; j < count; j += static_cast<std::int64_t>(64 / sizeof(T))) hwy::Prefetch(row + j);
}

// Rows of the largest tile, which is two registers wide: 16 sums, 2 of b and 1 of a in 32 registers, or 12 in
// 16. Taller ones are not faster, and leave more remaining rows.
inline constexpr std::int64_t kProductRows = HWY_TARGET <= HWY_AVX3 ? 8 : 6;
inline constexpr std::int64_t kProductDepth = 256;  // its panel of b stays near

// `Rows` rows of c [.., Wide registers] = a b, or += a b. If `start` is given, each row's sum begins with it.
template <class T, int Rows, int Wide>
HWY_INLINE void product_tile(std::int64_t k, Matrix<const T> a, const T* b, std::int64_t b_row, T* c,
                             std::int64_t c_row, bool add, const T* start) {
  using Row = RegisterRow<T, Wide>;
  RegisterTile<T, Rows, Wide> sum(start ? Row(start) : Row());
  for (std::int64_t p = 0; p < k; ++p) sum.add_outer(a.data + p * a.col, a.row, Row(b + p * b_row));
  add ? sum.add_to(c, c_row) : sum.store(c, c_row);
}

// The same for m rows: rows(i) is a from row i on, of which the next kProductRows are prefetched if i is a
// multiple of that.
template <class T, int Wide, class RowsOf>
HWY_INLINE void product_panel(std::int64_t m, std::int64_t k, const RowsOf& rows, const T* b,
                              std::int64_t b_row, T* c, std::int64_t c_row, bool add,
                              const T* start = nullptr) {
  std::int64_t i = 0;
  const auto tiles = [&]<int kRows>(std::integral_constant<int, kRows>, std::int64_t end) HWY_ATTR {
    for (; i < end; i += kRows)
      product_tile<T, kRows, Wide>(k, rows(i), b, b_row, c + i * c_row, c_row, add, start);
  };
  // Remaining rows use tiles of four, and so does one large tile if that leaves fewer single rows, which are
  // slow because each sum waits for the previous one.
  constexpr std::int64_t kLarge = kProductRows;
  bool anywhere = true;  // a tile may begin at any row
  if constexpr (requires { rows.in_strips(); }) anywhere = !rows.in_strips();
  std::int64_t large = m / kLarge * kLarge;
  if (anywhere && large > 0 && (m - large + kLarge) % 4 < (m - large) % 4) large -= kLarge;
  tiles(std::integral_constant<int, static_cast<int>(kLarge)>(), large);
  tiles(std::integral_constant<int, 4>(), i + (m - i) / 4 * 4);
  tiles(std::integral_constant<int, 1>(), m);
}

// c [m, n] = a [m, k] b [k, n], or += a b; n a multiple of a register, rows of b and c dense.
template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, const T* b,
             std::int64_t b_row, T* c, std::int64_t c_row, bool add) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (std::int64_t p = 0; p < k; p += kProductDepth) {
    const std::int64_t depth = std::min(kProductDepth, k - p);
    const auto part = [&](std::int64_t i) { return Matrix<const T>{&a.at(i, p), a.row, a.col}; };
    const bool adds = add || p > 0;
    std::int64_t j = 0;
    for (; j + 2 * lanes <= n; j += 2 * lanes)
      product_panel<T, 2>(m, depth, part, b + p * b_row + j, b_row, c + j, c_row, adds);
    for (; j < n; j += lanes)
      product_panel<T, 1>(m, depth, part, b + p * b_row + j, b_row, c + j, c_row, adds);
  }
}

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
