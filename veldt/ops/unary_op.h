// How a formula of one number becomes an op, twice: the kernel computes forward and, in one pass, gradient
// times slope. The expression given beside it is the same slope written with ops; it is used when the
// gradient itself is going to be differentiated. For ops.
#pragma once

#include <type_traits>

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

// From x and the formula's constants: a Tensor that broadcasts with x.
using SlopeExpression = Tensor (*)(const Tensor& x, Scalars);

// `op` as a backend counts it. Not a template, so that a hundred ops share its code.
Tensor unary(const char* name, int op, const Tensor& given, Scalars scalars, SlopeExpression slope);

template <class Op> Tensor unary(const Tensor& given, Scalars scalars, SlopeExpression slope) {
  return unary(Op::name, unary_index<Op>(scalar::UnaryOps()), given, scalars, slope);
}

}  // namespace veldt
