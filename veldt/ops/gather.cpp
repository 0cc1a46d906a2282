// Reads elements by index along a dimension; the gradient is added at the same positions.
#include "veldt/ops/gather.h"

#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt {
Tensor as_index(const char* op, const Tensor& index) {
  if (index.dtype() != DType::i64 && index.dtype() != DType::i32)
    throw ShapeError(str(op, " needs an index of i64 or i32, not ", index.dtype()),
                     "an index is a whole number", "convert it with to(index, DType::i64)");
  return to(index, DType::i64);
}

void check_index(const char* op, const Tensor& x, int dim, const Tensor& index) {
  check_same_device(op, x, index);
  bool fits = index.rank() == x.rank();
  for (int d = 0; fits && d < x.rank(); ++d) fits = d == dim || index.size(d) <= x.size(d);
  if (!fits)
    throw ShapeError(
        str(op, " cannot reach into ", x.shape(), " by an index of ", index.shape()),
        str("the ranks must agree, and sizes other than dimension ", dim, " must not exceed the source's"),
        "expand or slice the index");
  host_work("check of an index", {index.view()},
            [op, device = x.device(), dim, size = x.size(dim)](std::span<const View> views) {
              std::int64_t low = 0, high = -1;
              backend(device).index_range(views[0], &low, &high);
              if (high >= low && (low < 0 || high >= size))
                throw ShapeError(
                    str(op, " was asked for position ", low < 0 ? low : high, " of dimension ", dim),
                    str("its size is ", size), str("keep the index within 0 to ", size - 1));
            });
}

namespace {

// Zeros of `shape` with g added at the index: the gradient of gather.
Tensor scattered(const Tensor& g, const Shape& shape, int dim, const Tensor& index) {
  if (is_half(g.dtype()))
    return through_f32(g, [&](const Tensor& wide) { return scattered(wide, shape, dim, index); });
  const Tensor out = zeros(shape, g.dtype(), g.device());
  const Tensor dense = contiguous(g.detach());  // whole rows are added at once
  kernels(g).scatter_add(dense.view(), dim, index.view(), out.view());
  return record(
      "scatter_add", out, {g, index},
      [dim, index](const Tensor& gg) -> Grads {
        return {gather_within(gg, dim, index), Tensor()};
      },
      false);
}

}  // namespace

Tensor gathered(const Tensor& out, const char* name, const Tensor& x, int dim, const Tensor& index) {
  return record(
      name, out, {x, index},
      [shape = x.shape(), dim, index](const Tensor& g) -> Grads {
        return {scattered(g, shape, dim, index), Tensor()};
      },
      false);
}

Tensor gather_within(const Tensor& x, int dim, const Tensor& index) {
  const Tensor out = empty(index.shape(), x);
  kernels(x).gather(x.view(), dim, index.view(), out.view());
  return gathered(out, "gather", x, dim, index);
}

Tensor gather(const Tensor& x, int dim, const Tensor& given) {
  const int d = wrap_dim(dim, x.rank(), "gather");
  const Tensor index = as_index("gather", given);
  check_index("gather", x, d, index);
  return gather_within(x, d, index);
}

Tensor index_select(const Tensor& x, int dim, const Tensor& given) {
  const int d = wrap_dim(dim, x.rank(), "index_select");
  const Tensor index = as_index("index_select", given);
  if (index.rank() != 1)
    throw ShapeError(str("index_select needs a list of positions, not ", index.shape()),
                     "the index has one dimension", "flatten it, or use gather");
  Shape column = Shape::filled(x.rank(), 1), wide = x.shape();
  column[d] = wide[d] = index.size(0);
  const Tensor every = expand(reshape(index, column), wide);
  check_index("index_select", x, d, every);
  return gather_within(x, d, every);
}

}  // namespace veldt
