// Elementwise ops of one input: each formula of kernels/unary-inl.h, compiled for each SIMD target and both
// dtypes.
#include "veldt/cpu/elementwise.h"
#include "veldt/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/unary.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/rows.h"
#include "veldt/kernels/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veldt {
namespace HWY_NAMESPACE {
namespace {

template <class Op, class T> constexpr bool kWide = std::is_same_v<T, float>&& requires {
  requires Op::wide;
};

template <class Op, class T> HWY_INLINE Lanes<T> forward(const Op& op, Lanes<T> x) {
  if constexpr (kWide<Op, T>)
    return joined(op.forward(lower_half(x)), op.forward(upper_half(x)));
  else
    return op.forward(x);
}
template <class Op, class T> HWY_INLINE Lanes<T> slope(const Op& op, Lanes<T> x, Lanes<T> y) {
  if constexpr (kWide<Op, T>)
    return joined(op.slope(lower_half(x), lower_half(y)), op.slope(upper_half(x), upper_half(y)));
  else
    return op.slope(x, y);
}

// The end of a row, which fills no register, is moved to where it does and goes through the loop once more:
// so a value never depends on where it stands, and there is no second copy of each formula, a third of this
// file.
template <class T> struct Tail {
  HWY_ALIGN T numbers[hn::MaxLanes(hn::ScalableTag<T>())];

  HWY_INLINE T* take(const T* from, std::size_t n) {
    hn::Store(Lanes<T>::load_part(from, n).v, hn::ScalableTag<T>(), numbers);
    return numbers;
  }
  HWY_INLINE void give(T* to, std::size_t n) const {
    Lanes<T>(hn::Load(hn::ScalableTag<T>(), numbers)).store_part(to, n);
  }
};

template <class Op, class T> void forward_row(Scalars s, const void* from, void* to, std::int64_t count) {
  const Op op = formula<Op>(s.a, s.b);
  const hn::ScalableTag<T> d;
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  const std::size_t n = static_cast<std::size_t>(count), lanes = hn::Lanes(d), tail = n % lanes;
  Tail<T> end;
  for (std::size_t whole = n - tail;; whole = lanes) {
    for (std::size_t i = 0; i < whole; i += lanes)
      hn::StoreU(forward(op, Lanes<T>(hn::LoadU(d, x + i))).v, d, y + i);
    if (tail == 0) return;
    if (x == end.numbers) break;
    x = y = end.take(x + whole, tail);
  }
  end.give(static_cast<T*>(to) + (n - tail), tail);
}

template <class Op, class T>
void slope_row(Scalars s, const void* x_row, const void* y_row, const void* g_row, void* to,
               std::int64_t count) {
  const Op op = formula<Op>(s.a, s.b);
  const hn::ScalableTag<T> d;
  const T *x = static_cast<const T*>(x_row), *y = static_cast<const T*>(y_row),
          *g = static_cast<const T*>(g_row);
  T* out = static_cast<T*>(to);
  const std::size_t n = static_cast<std::size_t>(count), lanes = hn::Lanes(d), tail = n % lanes;
  Tail<T> x_end, y_end, g_end;
  for (std::size_t whole = n - tail;; whole = lanes) {
    for (std::size_t i = 0; i < whole; i += lanes) {
      const Lanes<T> by = slope(op, Lanes<T>(hn::LoadU(d, x + i)), Lanes<T>(hn::LoadU(d, y + i)));
      hn::StoreU((Lanes<T>(hn::LoadU(d, g + i)) * by).v, d, out + i);
    }
    if (tail == 0) return;
    if (x == x_end.numbers) break;
    x = x_end.take(x + whole, tail);
    y = y_end.take(y + whole, tail);
    g = out = g_end.take(g + whole, tail);
  }
  g_end.give(static_cast<T*>(to) + (n - tail), tail);
}

template <class... Op> const cpu::UnaryRows* rows(TypeList<Op...>) {
  static const cpu::UnaryRows table[] = {
      {&forward_row<Op, float>, &forward_row<Op, double>, &slope_row<Op, float>, &slope_row<Op, double>}...};
  return table;
}

const cpu::UnaryRows* unary_table() { return rows(UnaryOps()); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace veldt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt {
namespace {
VELDT_EXPORT(unary_table);
}
namespace cpu {
namespace {

const UnaryRows& rows_of(int op) {
  static const UnaryRows* const table = VELDT_DISPATCH(unary_table)();
  return table[op];
}

}  // namespace

void unary(int op, Scalars s, const View& x, const View& y) {
  const UnaryForward f = !is_float(x.dtype)      ? whole_unary_row(op, x.dtype)
                         : x.dtype == DType::f64 ? rows_of(op).forward_f64
                                                 : rows_of(op).forward_f32;
  const View* views[] = {&x, &y};
  for_each_row(
      views, 2, [=](char* const* at, std::int64_t n) { f(s, at[0], at[1], n); }, Halves::as_f32);
}

void unary_slope(int op, Scalars s, const View& x, const View& y, const View& g, const View& out) {
  const UnarySlope f = x.dtype == DType::f64 ? rows_of(op).slope_f64 : rows_of(op).slope_f32;
  const View* views[] = {&x, &y, &g, &out};
  for_each_row(
      views, 4, [=](char* const* at, std::int64_t n) { f(s, at[0], at[1], at[2], at[3], n); },
      Halves::as_f32);
}

}  // namespace cpu
}  // namespace veldt
#endif
