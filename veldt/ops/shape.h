// The same numbers in another shape. Views share memory; contiguous(), to() and cat() may copy.
// Tests: tests/support/op_rows_shape.cpp, tests/ops/shape_test.cpp, tests/ops/memory_order_test.cpp
#pragma once

#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt {

// One size may be -1: it is computed from the rest. A view if the strides allow it, else a copy.
Tensor reshape(const Tensor& x, const Shape& shape);
// [a, b, c, ..] -> [a, b c ..] from dimension `from` on.
Tensor flatten(const Tensor& x, int from = 0);
// Swaps two dimensions; by default the last two.
Tensor transpose(const Tensor& x, int a = -2, int b = -1);
// Dimension i of the result is dimension order[i] of x.
Tensor permute(const Tensor& x, const std::vector<int>& order);
// Repeats dimensions of size 1, and adds leading ones, without copying. -1 keeps a size.
Tensor expand(const Tensor& x, const Shape& shape);
// Elements begin, begin + step, .. below end of one dimension, as Python's begin:end:step: positions below 0
// count from the end, and those beyond the ends are moved to them (narrow of ops/arrange.h refuses them). For
// a step below 0 they go down to above end, and the result is a copy; an end of -size - 1 then takes the
// first element too. Throws ShapeError for a step of 0. x(Slice{begin, end, step}) does the
// same for steps above 0: it is a view, into which one may write.
Tensor slice(const Tensor& x, int dim, std::int64_t begin, std::int64_t end, std::int64_t step = 1);
// One position of a dimension, which is dropped. Below 0 it counts from the end; throws ShapeError beyond the
// size. x[i] is select(x, 0, i).
Tensor select(const Tensor& x, int dim, std::int64_t index);
Tensor unsqueeze(const Tensor& x, int dim);
Tensor squeeze(const Tensor& x, int dim);  // ShapeError unless its size is 1
Tensor squeeze(const Tensor& x);           // all dimensions of size 1

// A copy with memory of its own, in x's order of dimensions; its gradient goes to x. (x.detach() shares
// memory.)
Tensor clone(const Tensor& x);
// Row-major in memory; x itself if it already is.
Tensor contiguous(const Tensor& x);
// Another dtype (docs/dtypes.md says how numbers are rounded; between floats gradients pass), or another
// device. x itself if nothing changes.
Tensor to(const Tensor& x, DType dtype);
Tensor to(const Tensor& x, Device device);

// Joins along an existing dimension / along a new one, in the common dtype of all.
Tensor cat(const std::vector<Tensor>& parts, int dim = 0);
Tensor stack(const std::vector<Tensor>& parts, int dim = 0);

// The kernel view of x repeated to `shape`. For ops.
View broadcast_view(const Tensor& x, const Shape& shape);

}  // namespace veldt
