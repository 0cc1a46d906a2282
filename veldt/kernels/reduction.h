// Facts about reductions on every device.
// Tests: tests/cpu/reduce_test.cpp, tests/cuda/reduce_test.cpp
#pragma once

#include <limits>

#include "veldt/core/backend.h"

namespace veldt::scalar {

// The result over no elements: the neutral element.
template <class Acc> Acc reduction_start(ReduceOp op) {
  using Limits = std::numeric_limits<Acc>;
  if (op == ReduceOp::sum || op == ReduceOp::mean || op == ReduceOp::norm) return 0;
  if (op == ReduceOp::prod) return 1;
  if constexpr (Limits::has_infinity) return op == ReduceOp::max ? -Limits::infinity() : Limits::infinity();
  return op == ReduceOp::max ? Limits::lowest() : Limits::max();
}

}  // namespace veldt::scalar
