// Running sums, products, maxima and minima along one dimension.
// Tests: tests/support/op_rows_lines.cpp, tests/ops/lines_test.cpp, tests/ops/order_test.cpp
#pragma once

#include "veldt/ops/sort.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

// y[i] = x[0] + .. + x[i], and x[0] .. x[i] multiplied; accumulated in double, those of halves in
// f32. Integers and booleans give i64. The gradient of a product is right at zeros too.
Tensor cumsum(const Tensor& x, int dim);
Tensor cumprod(const Tensor& x, int dim);

// The largest, or smallest, of x[0] .. x[i], and where it is: the last of equal ones; a NaN stays. The
// gradient of each goes to its source. On CUDA one thread handles a line.
Sorted cummax(const Tensor& x, int dim);
Sorted cummin(const Tensor& x, int dim);

}  // namespace veldt
