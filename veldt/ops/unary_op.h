// How a formula of one number becomes an op, twice: the kernel computes forward and, in one pass, gradient
// times slope. The expression given beside it is the same slope written with ops; it is used when the
// gradient itself is going to be differentiated. For ops.
#pragma once

#include "veldt/kernels/unary-inl.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/parts.h"
#include "veldt/tensor/graph.h"

namespace veldt {

// From x and the formula's constants: a Tensor that broadcasts with x.
using SlopeExpression = Tensor (*)(const Tensor& x, Scalars);

// `op` as a backend counts it. Not a template, so that a hundred ops share its code.
Tensor unary(const char* name, int op, const Tensor& given, Scalars scalars, SlopeExpression slope);

template <class Op> Tensor unary(const Tensor& given, Scalars scalars, SlopeExpression slope) {
  return unary(Op::name, IndexOf<Op, scalar::UnaryOps>::value, given, scalars, slope);
}

}  // namespace veldt
