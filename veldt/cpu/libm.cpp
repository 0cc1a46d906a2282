// The elementwise formulas that libm computes one number at a time: compiled once, for no instruction set in
// particular.
#include "veldt/cpu/rows.h"
#include "veldt/kernels/unary_libm-inl.h"

namespace veldt::cpu {
namespace {

template <class Op, class T> void forward_row(Scalars s, const void* from, void* to, std::int64_t n) {
  const Op op = formula<Op>(s.a, s.b);
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  for (std::int64_t i = 0; i < n; ++i) y[i] = op.forward(x[i]);
}

template <class Op, class T>
void slope_row(Scalars s, const void* x_row, const void* y_row, const void* g_row, void* to, std::int64_t n) {
  const Op op = formula<Op>(s.a, s.b);
  const T *x = static_cast<const T*>(x_row), *y = static_cast<const T*>(y_row),
          *g = static_cast<const T*>(g_row);
  T* out = static_cast<T*>(to);
  for (std::int64_t i = 0; i < n; ++i) out[i] = g[i] * op.slope(x[i], y[i]);
}

template <class... Op> const UnaryRows* unary_rows(TypeList<Op...>) {
  static constexpr UnaryRows table[] = {
      {&forward_row<Op, float>, &forward_row<Op, double>, &slope_row<Op, float>, &slope_row<Op, double>}...};
  return table;
}

}  // namespace

const UnaryRows& libm_unary_rows(int op) { return unary_rows(scalar::UnaryLibmOps())[op]; }

}  // namespace veldt::cpu
