// Elementwise ops of one input. One kernel a number type: it chooses the formula, because a kernel for each
// takes the compiler minutes.
#include "veldt/cuda/elementwise.h"
#include "veldt/cuda/kernels.h"
#include "veldt/kernels/unary-inl.h"

namespace veldt::cuda {
namespace {

using Formulas = scalar::UnaryOps;

template <class F>
__global__ void __launch_bounds__(kThreads) unary_kernel(int op, Scalars s, Walk w, Memory from, Memory to) {
  for (std::int64_t i = first_element(); i < w.pieces(); i += element_step()) {
    const Piece p = piece_of<2>(w, i);
    F x[4];
    load(from, p.at[0], p.count, w.repeats(0), x);
    choose<Formulas>(op, [&](auto type) {
      const auto f = formula<decltype(type)>(s.a, s.b);
      apply(
          p.count, [&](F v) { return f.forward(v); }, x);
    });
    store(to, p.at[1], p.count, x);
  }
}

}  // namespace

void unary(int op, Scalars s, const View& x, const View& y, Stream) {
  check_elementwise(x.dtype);
  const Walk w = walk_of({&x, &y});
  if (w.count == 0) return;
  launch(x.dtype == DType::f64 ? unary_kernel<double> : unary_kernel<float>, blocks_for(w.pieces()), kThreads,
         0, op, s, w, x, y);
}

}  // namespace veldt::cuda
