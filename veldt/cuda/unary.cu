// Elementwise ops of one input. One kernel a number type: it chooses the formula, because a kernel for each
// takes the compiler minutes.
#include "veldt/cuda/elementwise.h"
#include "veldt/cuda/kernels.h"
#include "veldt/kernels/formula_name.h"
#include "veldt/kernels/unary-inl.h"

namespace veldt::cuda {
namespace {

using Formulas = scalar::UnaryOps;

// Whole numbers are computed as i64, as in binary.cu.
template <class Op, class F> __device__ inline F value_of(const Op& op, F x) {
  if constexpr (std::is_floating_point_v<F>)
    return op.forward(x);
  else if constexpr (requires { op.whole(x); })
    return op.whole(x);
  else
    return x;  // refused before
}

template <class F>
__global__ void __launch_bounds__(kThreads)
    unary_kernel(int op, Scalars s, ElementWalk w, Memory from, Memory to) {
  for (std::int64_t i = first_element(); i < w.pieces(); i += element_step()) {
    const Piece p = piece_of<2>(w, i);
    F x[4];
    load(from, p.at[0], p.count, w.repeats(0), x);
    choose<Formulas>(op, [&](auto type) {
      const auto f = formula<decltype(type)>(s.a, s.b);
      apply(
          p.count, [&](F v) { return value_of(f, v); }, x);
    });
    store(to, p.at[1], p.count, x);
  }
}

template <class Op>
concept HasWhole = requires(Op op, std::int64_t x) {
  op.whole(x);
};
template <class... Op> bool has_whole(int op, TypeList<Op...>) {
  static constexpr bool has[] = {HasWhole<Op>...};
  return has[op];
}

}  // namespace

void unary(int op, Scalars s, const View& x, const View& y) {
  if (!is_float(x.dtype) && !has_whole(op, Formulas()))
    refuse_dtype(kName, formula_name(Entry::unary, op), x.dtype, kFloats);
  const auto kernel = !is_float(x.dtype)      ? unary_kernel<std::int64_t>
                      : x.dtype == DType::f64 ? unary_kernel<double>
                                              : unary_kernel<float>;
  const ElementWalk w = walk_of({&x, &y});
  if (w.count > 0) launch(kernel, blocks_for(w.pieces()), kThreads, 0, op, s, w, x, y);
}

}  // namespace veldt::cuda
