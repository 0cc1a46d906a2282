// Reading by index.
// Tests: tests/support/op_rows_index.cpp, tests/ops/order_test.cpp, tests/ops/edges_test.cpp,
// tests/ops/error_test.cpp
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt {

// out[.., i, ..] = x[.., index[.., i, ..], ..] along dim, as torch.gather; index (i64 or i32) has out's
// shape, no larger than x's in the other dimensions. Throws ShapeError for a position beyond the size.
Tensor gather(const Tensor& x, int dim, const Tensor& index);
// Whole slices: out = x with dimension `dim` replaced by x's slices at index [n] (i64 or i32).
Tensor index_select(const Tensor& x, int dim, const Tensor& index);

}  // namespace veldt
