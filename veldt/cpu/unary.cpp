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

// A whole register where there are as many numbers, else what there is.
template <class T> HWY_INLINE Lanes<T> load_up_to(const T* from, std::size_t n) {
  const hn::ScalableTag<T> d;
  if (n >= hn::Lanes(d)) [[likely]]
    return hn::LoadU(d, from);
  return Lanes<T>::load_part(from, n);
}
template <class T> HWY_INLINE void store_up_to(Lanes<T> x, T* to, std::size_t n) {
  const hn::ScalableTag<T> d;
  if (n >= hn::Lanes(d)) [[likely]]
    hn::StoreU(x.v, d, to);
  else
    x.store_part(to, n);
}

// The tail goes through the same instructions as the rest, so a value never depends on where it stands; and
// through the same code, for a second copy of each formula would be a third of this file.
template <class Op, class T> void forward_row(Scalars s, const void* from, void* to, std::int64_t count) {
  const Op op = formula<Op>(s.a, s.b);
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  const std::size_t n = static_cast<std::size_t>(count), lanes = hn::Lanes(hn::ScalableTag<T>());
  for (std::size_t i = 0; i < n; i += lanes) store_up_to(forward(op, load_up_to(x + i, n - i)), y + i, n - i);
}

template <class Op, class T>
void slope_row(Scalars s, const void* x_row, const void* y_row, const void* g_row, void* to,
               std::int64_t count) {
  const Op op = formula<Op>(s.a, s.b);
  const T *x = static_cast<const T*>(x_row), *y = static_cast<const T*>(y_row),
          *g = static_cast<const T*>(g_row);
  T* out = static_cast<T*>(to);
  const std::size_t n = static_cast<std::size_t>(count), lanes = hn::Lanes(hn::ScalableTag<T>());
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t m = n - i;
    const Lanes<T> by = slope(op, load_up_to(x + i, m), load_up_to(y + i, m));
    store_up_to(load_up_to(g + i, m) * by, out + i, m);
  }
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
