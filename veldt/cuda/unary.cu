// Elementwise ops of one input, and their slopes.
#include "veldt/core/error.h"
#include "veldt/cuda/elementwise.h"
#include "veldt/cuda/kernels.h"
#include "veldt/kernels/unary-inl.h"
#include "veldt/kernels/unary_libm-inl.h"

namespace veldt::cuda {
namespace {

template <class Op> Op formula(Scalars s) {
  if constexpr (std::is_empty_v<Op>)
    return Op{};
  else if constexpr (requires { Op{s.a, s.b}; })
    return Op{s.a, s.b};
  else
    return Op{s.a};
}

template <class Op, class T>
__global__ void __launch_bounds__(kThreads) unary_kernel(Op op, Walk w, const T* x, T* y) {
  for (std::int64_t i = first_element(); i < w.count; i += element_step()) {
    std::int64_t at[2];
    offsets_of(w, i, at);
    y[at[1]] = op.forward(x[at[0]]);
  }
}

template <class Op, class T> void run_unary(Scalars s, const Walk& w, const View& x, const View& y) {
  launch(unary_kernel<Op, T>, blocks_for(w.count), kThreads, 0, formula<Op>(s), w, x.as<const T>(),
         y.as<T>());
}

using Unary = void (*)(Scalars, const Walk&, const View&, const View&);
template <class T, class... Op> Unary unary_of(int op, TypeList<Op...>) {
  static constexpr Unary table[] = {&run_unary<Op, T>...};
  return table[op];
}

}  // namespace

void unary(int op, Scalars s, const View& x, const View& y, Stream) {
  const View* views[] = {&x, &y};
  const Walk w = walk_of(views, 2);
  if (w.count == 0) return;
  using scalar::UnaryLibmOps;
  using scalar::UnaryOps;
  if (op >= UnaryOps::size) {
    op -= UnaryOps::size;
    if (x.dtype == DType::f64) return unary_of<double>(op, UnaryLibmOps())(s, w, x, y);
    return unary_of<float>(op, UnaryLibmOps())(s, w, x, y);
  }
  if (x.dtype == DType::f64)
    unary_of<double>(op, UnaryOps())(s, w, x, y);
  else
    unary_of<float>(op, UnaryOps())(s, w, x, y);
}

}  // namespace veldt::cuda
