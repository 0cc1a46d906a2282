// How a formula of one number becomes an op, twice: the kernel computes forward and, in one pass, gradient
// times slope. The expression given beside it is the same slope written with ops; it is used when the
// gradient itself is going to be differentiated. For ops.
#pragma once

#include <type_traits>
#include <utility>

#include "veldt/kernels/unary-inl.h"
#include "veldt/kernels/unary_libm-inl.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/parts.h"
#include "veldt/tensor/graph.h"

namespace veldt {

// Where a backend finds the formula: those of libm are counted on from the others.
template <class Op, class... Simd> constexpr int unary_index(TypeList<Simd...> simd) {
  if constexpr ((std::is_same_v<Op, Simd> || ...))
    return IndexOf<Op, TypeList<Simd...>>::value;
  else
    return decltype(simd)::size + IndexOf<Op, scalar::UnaryLibmOps>::value;
}

// slope: from x, a Tensor or a Scalar.
template <class Op, class Slope> Tensor unary(const Tensor& given, Scalars scalars, Slope slope) {
  constexpr int op = unary_index<Op>(scalar::UnaryOps());
  const Tensor x = as_float(given);
  const Tensor y = empty(x.shape(), x);
  kernels(x).unary(op, scalars, x.view(), y.view(), nullptr);
  return record(Op::name, y, {x}, [x, kept = y.detach(), scalars, slope](const Tensor& g) -> Grads {
    if (grad_enabled()) return {g * slope(x)};
    const Tensor out = empty(x.shape(), x);
    kernels(x).unary_slope(op, scalars, x.view(), kept.view(), g.view(), out.view(), nullptr);
    return {out};
  });
}

}  // namespace veldt
