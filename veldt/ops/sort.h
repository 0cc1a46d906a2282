// Order along one dimension. Stable: equal elements keep their order. A NaN counts as the largest.
// Tests: tests/support/op_rows_lines.cpp, tests/ops/order_test.cpp
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt {

struct Sorted {
  Tensor values;   // its gradient goes to each value's source
  Tensor indices;  // i64
};

Sorted sort(const Tensor& x, int dim = -1, bool descending = false);
Tensor argsort(const Tensor& x, int dim = -1, bool descending = false);
// The first k of the sorted line: the largest, or the smallest. Throws ShapeError for a k beyond its size.
Sorted topk(const Tensor& x, std::int64_t k, int dim = -1, bool largest = true);

}  // namespace veldt
