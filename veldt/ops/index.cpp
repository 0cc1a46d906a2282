// Writes by index, and reads where a condition is true; only the device knows how often.
#include "veldt/ops/index.h"

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

void check_source(const char* op, const Tensor& x, const Tensor& index, const Tensor& source) {
  check_same_device(op, x, source);
  if (source.shape() != index.shape())
    throw ShapeError(str(op, " cannot write ", source.shape(), " by an index of ", index.shape()),
                     "each number needs a place", "slice or expand one of them");
  if (source.dtype() != x.dtype())
    throw ShapeError(str(op, " cannot write ", source.dtype(), " into ", x.dtype()), "the dtypes differ",
                     "convert one side with to()");
}

Tensor copy_of(const Tensor& x) {
  const Tensor out = empty(x.shape(), x);
  kernels(x).copy(x.view(), out.view());
  return out;
}

// The positions at which a boolean tensor is true, in row-major order [count, rank].
Tensor positions_of(const Tensor& mask) {
  NoGrad off;
  const Tensor packed = contiguous(mask.detach());
  const auto count = static_cast<std::int64_t>(sum(packed).item());
  const Tensor out = empty({count, mask.rank()}, DType::i64, mask.device());
  if (out.numel() > 0) kernels(mask).positions(packed.view(), out.view());
  return out;
}

}  // namespace

Tensor scatter(const Tensor& x, int dim, const Tensor& given, const Tensor& source) {
  const int d = wrap_dim(dim, x.rank(), "scatter");
  const Tensor index = as_index("scatter", given);
  check_index("scatter", x, d, index);
  check_source("scatter", x, index, source);
  const Tensor out = copy_of(x);
  kernels(x).scatter(source.view(), d, index.view(), out.view());
  return record(
      "scatter", out, {x, index, source},
      [d, index, x = without_values(x), source = without_values(source)](const Tensor& g) -> Grads {
        return {needs_grad(x) ? scatter(g, d, index, zeros(index.shape(), g.dtype(), g.device())) : Tensor(),
                Tensor(), needs_grad(source) ? gather_within(g, d, index) : Tensor()};
      },
      false);
}

Tensor scatter(const Tensor& x, int dim, const Tensor& index, Scalar value) {
  return scatter(x, dim, index, contiguous(expand(constant(value, x.dtype(), x.device()), index.shape())));
}

Tensor scatter_add(const Tensor& x, int dim, const Tensor& given, const Tensor& source) {
  const int d = wrap_dim(dim, x.rank(), "scatter_add");
  const Tensor index = as_index("scatter_add", given);
  check_index("scatter_add", x, d, index);
  check_source("scatter_add", x, index, source);
  const Tensor sums = is_half(x.dtype()) ? to(x.detach(), DType::f32) : copy_of(x);
  kernels(x).scatter_add(source.view(), d, index.view(), sums.view());
  return record(
      "scatter_add", to(sums, x.dtype()), {x, index, source},
      [d, index](const Tensor& g) -> Grads {
        return {g, Tensor(), gather_within(g, d, index)};
      },
      false);
}

Tensor index_add(const Tensor& x, int dim, const Tensor& given, const Tensor& source) {
  const int d = wrap_dim(dim, x.rank(), "index_add");
  const Tensor index = as_index("index_add", given);
  Shape wanted = x.shape(), column = Shape::filled(x.rank(), 1);
  if (index.rank() != 1)
    throw ShapeError(str("index_add needs a list of positions, not ", index.shape()),
                     "the index has one dimension", "flatten it, or use scatter_add");
  wanted[d] = column[d] = index.size(0);
  if (source.shape() != wanted)
    throw ShapeError(str("index_add cannot add ", source.shape(), " to ", x.shape(), " at ", index.size(0),
                         " positions of dimension ", d),
                     str("it needs ", wanted), "give a slice for each position");
  return scatter_add(x, d, expand(reshape(index, column), wanted), source);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  return where(mask, constant(value, x.dtype(), x.device()), x);
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  if (mask.dtype() != DType::boolean)
    throw ShapeError(str("masked_select needs a boolean mask, not ", mask.dtype()), "a mask is yes or no",
                     "compare first, for example greater(x, y)");
  const Shape shape = broadcast(x.shape(), mask.shape(), "masked_select");
  const Tensor positions = positions_of(reshape(expand(mask, shape), {-1}));
  return gather_within(reshape(expand(x, shape), {-1}), 0, reshape(positions, {-1}));
}

Tensor nonzero(const Tensor& x) { return positions_of(to(x, DType::boolean)); }

Tensor one_hot(const Tensor& index, std::int64_t classes) {
  if (is_float(index.dtype()))
    throw ShapeError(str("one_hot needs whole numbers, not ", index.dtype()), "a class is counted",
                     "convert it with to(index, DType::i64)");
  const Tensor each = arange(classes, DType::i64, index.device());
  return to(equal(unsqueeze(to(index, DType::i64), -1), each), DType::i64);
}

}  // namespace veldt
