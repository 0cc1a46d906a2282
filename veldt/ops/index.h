// Writing by index, and reading and writing by condition. An index is i64 or i32; a position beyond the size
// throws ShapeError. Reading is in ops/gather.h.
// Tests: tests/support/op_rows_index.cpp, tests/ops/order_test.cpp, tests/ops/lines_test.cpp
#pragma once

#include "veldt/ops/scalar.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

// x with out[.., index[.., i, ..], ..] = source[.., i, ..] along dim; index and source have one shape, no
// larger than x's in the other dimensions. If several writes go to one place, the last one stays; the
// gradient is only right if there is one write per place.
Tensor scatter(const Tensor& x, int dim, const Tensor& index, const Tensor& source);
Tensor scatter(const Tensor& x, int dim, const Tensor& index, Scalar value);
// The same, adding: out[.., index[.., i, ..], ..] += source[.., i, ..], in the order of the index.
Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source);
// Adds whole slices: source's slice i along dim to x's slice index[i].
Tensor index_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source);

// x where `mask` (boolean, broadcast) is false, `value` where it is true.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value);
// The elements where `mask` is true, as a list; both broadcast. Waits for their number, so a Plan refuses it.
Tensor masked_select(const Tensor& x, const Tensor& mask);
// The indices of the elements that are not 0, [count, rank], i64, in row-major order. A Plan refuses it.
Tensor nonzero(const Tensor& x);
// [.., classes] of i64: 1 at the class that index [..] names, 0 elsewhere and for other numbers.
Tensor one_hot(const Tensor& index, std::int64_t classes);

}  // namespace veldt
