// Exponentials of a line as shares of their sum. Integers give f32.
// Tests: tests/support/op_rows_lines.cpp, tests/ops/lines_test.cpp
#pragma once

#include "veldt/ops/reduce.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

// e^x / sum of e^x along `dim`, and its logarithm without overflow or cancellation; NaN if a line has an
// infinity, or only -inf.
Tensor softmax(const Tensor& x, int dim);
Tensor log_softmax(const Tensor& x, int dim);
// log(sum of e^x) over dimensions, no dims meaning all of them; -inf over nothing.
Tensor logsumexp(const Tensor& x, const Dims& dims = {}, bool keepdim = false);

}  // namespace veldt
