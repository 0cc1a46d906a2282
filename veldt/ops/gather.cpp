#include "veldt/ops/gather.h"

#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt {
namespace {

void check(const Tensor& x, int dim, const Tensor& index) {
  if (index.dtype() != DType::i64)
    throw ShapeError(str("gather needs an index of i64, not ", index.dtype()), "an index is a whole number",
                     "convert it with to(index, DType::i64)");
  bool fits = index.rank() == x.rank();
  for (int d = 0; fits && d < x.rank(); ++d) fits = d == dim || index.size(d) <= x.size(d);
  if (!fits)
    throw ShapeError(
        str("gather cannot read ", x.shape(), " by an index of ", index.shape()),
        str("the ranks must agree, and sizes other than dimension ", dim, " must not exceed the source's"),
        "expand or slice the index");
  host_work("check of an index", {index.view()},
            [device = x.device(), dim, size = x.size(dim)](std::span<const View> views) {
              std::int64_t low = 0, high = -1;
              backend(device).index_range(views[0], &low, &high, nullptr);
              if (high >= low && (low < 0 || high >= size))
                throw ShapeError(
                    str("gather was asked for position ", low < 0 ? low : high, " of dimension ", dim),
                    str("its size is ", size), str("keep the index within 0 to ", size - 1));
            });
}

Tensor scatter_add(const Tensor& g, const Shape& shape, int dim, const Tensor& index) {
  if (is_half(g.dtype()))
    return through_f32(g, [&](const Tensor& wide) { return scatter_add(wide, shape, dim, index); });
  const Tensor out = zeros(shape, g.dtype(), g.device());
  kernels(g).scatter_add(g.view(), dim, index.view(), out.view(), nullptr);
  return record(
      "scatter_add", out, {g, index},
      [dim, index](const Tensor& gg) -> Grads {
        return {gather(gg, dim, index), Tensor()};
      },
      false);
}

}  // namespace

Tensor gather(const Tensor& x, int dim, const Tensor& index) {
  const int d = wrap_dim(dim, x.rank(), "gather");
  check(x, d, index);
  const Tensor out = empty(index.shape(), x);
  kernels(x).gather(x.view(), d, index.view(), out.view(), nullptr);
  return record(
      "gather", out, {x, index},
      [shape = x.shape(), d, index](const Tensor& g) -> Grads {
        return {scatter_add(g, shape, d, index), Tensor()};
      },
      false);
}

Tensor index_select(const Tensor& x, int dim, const Tensor& index) {
  const int d = wrap_dim(dim, x.rank(), "index_select");
  if (index.rank() != 1)
    throw ShapeError(str("index_select needs a list of positions, not ", index.shape()),
                     "the index has one dimension", "flatten it, or use gather");
  Shape column = Shape::filled(x.rank(), 1), wide = x.shape();
  column[d] = wide[d] = index.size(0);
  return gather(x, d, expand(reshape(index, column), wide));
}

}  // namespace veldt
