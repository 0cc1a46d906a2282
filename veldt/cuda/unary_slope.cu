// The slopes of elementwise ops of one input, as unary.cu has the ops.
#include "veldt/cuda/elementwise.h"
#include "veldt/cuda/kernels.h"
#include "veldt/kernels/unary-inl.h"

namespace veldt::cuda {
namespace {

using Formulas = scalar::UnaryOps;

template <class F>
__global__ void __launch_bounds__(kThreads)
    slope_kernel(int op, Scalars s, ElementWalk w, Memory x_at, Memory y_at, Memory g_at, Memory to) {
  for (std::int64_t i = first_element(); i < w.pieces(); i += element_step()) {
    const Piece p = piece_of<4>(w, i);
    F x[4], y[4], g[4];
    load(x_at, p.at[0], p.count, w.repeats(0), x);
    load(y_at, p.at[1], p.count, w.repeats(1), y);
    load(g_at, p.at[2], p.count, w.repeats(2), g);
    choose<Formulas>(op, [&](auto type) {
      const auto f = formula<decltype(type)>(s.a, s.b);
      apply(
          p.count, [&](F a, F b, F c) { return c * f.slope(a, b); }, x, y, g);
    });
    store(to, p.at[3], p.count, x);
  }
}

}  // namespace

void unary_slope(int op, Scalars s, const View& x, const View& y, const View& g, const View& out) {
  const ElementWalk w = walk_of({&x, &y, &g, &out});
  if (w.count == 0) return;
  launch(x.dtype == DType::f64 ? slope_kernel<double> : slope_kernel<float>, blocks_for(w.pieces()), kThreads,
         0, op, s, w, x, y, g, out);
}

}  // namespace veldt::cuda
