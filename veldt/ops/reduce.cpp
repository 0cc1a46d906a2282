// Reduces over any dimensions by one kernel, and broadcasts gradients back.
#include "veldt/ops/reduce.h"

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

std::int64_t reduced_count(const Tensor& x, const Shape& kept) {
  std::int64_t n = 1;
  for (int d = 0; d < x.rank(); ++d)
    if (kept[d] != x.size(d)) n *= x.size(d);
  return n;
}

Tensor sum_kept(const Tensor& x, const Shape& kept) {
  const Tensor y = reduced_to(is_float(x.dtype()) ? wide_dtype(x) : DType::i64, ReduceOp::sum, x, kept);
  const Tensor out = record(
      "sum", y, {x},
      [shape = x.shape(), dtype = x.dtype()](const Tensor& g) -> Grads {
        return {expand(to(g, dtype), shape)};
      },
      false);
  return is_half(x.dtype()) ? rounded(out, x) : out;
}

Tensor mean_kept(const Tensor& x, const Shape& kept) {
  const Tensor y = reduced_to(wide_dtype(x), ReduceOp::mean, x, kept);
  return rounded(record(
                     "mean", y, {x},
                     [shape = x.shape(), dtype = x.dtype(), n = static_cast<double>(reduced_count(x, kept))](
                         const Tensor& g) -> Grads { return {expand(to(g / n, dtype), shape)}; },
                     false),
                 x);
}

// The root of the sum of squares. It has no slope at 0; the gradient there is 0, as in PyTorch.
Tensor norm_kept(const Tensor& x, const Shape& kept) {
  const Tensor y = reduced_to(wide_dtype(x), ReduceOp::norm, x, kept);
  return record("norm", y, {x}, [x, kept, y = y.detach()](const Tensor& g) -> Grads {
    const Tensor length = grad_enabled() ? norm_kept(x, kept) : y, zero = equal(length, 0);
    const Tensor share = where(zero, zeros_like(length), g / where(zero, ones_like(length), length));
    return {to(to(x, share.dtype()) * share, x.dtype())};
  });
}

Tensor extreme(ReduceOp op, const char* name, const Tensor& x, const Dims& dims, bool keepdim) {
  const Shape kept = reduced_shape(x, dims, name);
  if (x.numel() == 0 && numel(kept) > 0)
    throw ShapeError(str(name, " has nothing to choose from in ", x.shape()), "the tensor has no elements",
                     "check the size before reducing");
  const Tensor y = reduced_to(wide_dtype(x), op, x, kept);
  const Tensor out = record(name, y, {x}, [x, y = y.detach()](const Tensor& g) -> Grads {
    const Tensor hit = to(equal(x.detach(), y), y.dtype());
    Dims over;
    for (int d = 0; d < x.rank(); ++d)
      if (y.size(d) != x.size(d)) over.push_back(d);
    return {to(g * (over.empty() ? hit : hit / sum(hit, over, true)), x.dtype())};
  });
  return drop_reduced(rounded(out, x), x, dims, keepdim);
}

Tensor arg_extreme(ReduceOp op, const char* name, const Tensor& x, int dim, bool keepdim) {
  if (x.rank() == 0) return reshape(arg_extreme(op, name, reshape(x, {1}), dim, true), {});
  const int d = wrap_dim(dim, x.rank(), name);
  if (x.size(d) == 0)
    throw ShapeError(str(name, " has nothing to choose from in ", x.shape()),
                     str("dimension ", d, " is empty"), "check the size before reducing");
  Shape kept = x.shape();
  kept[d] = 1;
  const Tensor out = empty(kept, DType::i64, x.device());
  kernels(x).arg_reduce(op, x.view(), d, out.view());
  mark_cut(out, x, name);
  return drop_reduced(out, x, {d}, keepdim);
}

// Whether the largest or smallest of the reduced elements, as booleans, is true; without elements only the
// smallest is.
Tensor holds(ReduceOp op, const char* name, const Tensor& x, const Shape& kept) {
  if (x.numel() == 0) return full(kept, op == ReduceOp::min, DType::boolean, x.device());
  const Tensor bytes = x.dtype() == DType::u8 ? x : to(x, DType::boolean), y = empty(kept, bytes);
  kernels(x).reduce(op, bytes.view(), y.view());
  mark_cut(y, bytes, name);
  return to(y, DType::boolean);
}

// x^(1/p). At 0 it has no slope; the gradient there is 0, as in PyTorch.
Tensor root(const Tensor& x, double p) {
  const Tensor zero = equal(x, 0), safe = where(zero, ones_like(x), x);
  return where(zero, zeros_like(x), p == 2 ? sqrt(safe) : pow(safe, 1 / p));
}

}  // namespace

Tensor reduced_to(DType dtype, ReduceOp op, const Tensor& x, const Shape& kept) {
  const Tensor y = empty(kept, dtype, x.device());
  kernels(x).reduce(op, x.view(), y.view());
  return y;
}

Shape reduced_shape(const Tensor& x, const Dims& dims, const char* op) {
  if (dims.empty()) return Shape::filled(x.rank(), 1);
  Shape kept = x.rank() == 0 ? Shape{1} : x.shape();
  Shape seen = Shape::filled(kept.rank(), 0);
  for (int dim : dims) {
    const int d = wrap_dim(dim, kept.rank(), op);
    if (seen[d]++)
      throw ShapeError(str(op, " was given dimension ", d, " twice"), "each dimension can be reduced once",
                       "name it once");
    kept[d] = 1;
  }
  return x.rank() == 0 ? Shape{} : kept;
}

Tensor drop_reduced(const Tensor& y, const Tensor& x, const Dims& dims, bool keepdim) {
  if (keepdim || x.rank() == 0) return y;
  if (dims.empty()) return reshape(y, {});
  Shape reduced = Shape::filled(x.rank(), 0), shape;
  for (int dim : dims) reduced[wrap_dim(dim, x.rank(), "reduce")] = 1;
  for (int d = 0; d < x.rank(); ++d)
    if (!reduced[d]) shape.push_back(x.size(d));
  return reshape(y, shape);
}

Tensor sum(const Tensor& x, const Dims& dims, bool keepdim) {
  return drop_reduced(sum_kept(x, reduced_shape(x, dims, "sum")), x, dims, keepdim);
}

Tensor mean(const Tensor& x, const Dims& dims, bool keepdim) {
  return drop_reduced(mean_kept(as_float(x), reduced_shape(x, dims, "mean")), x, dims, keepdim);
}

Tensor max(const Tensor& x, const Dims& dims, bool keepdim) {
  return extreme(ReduceOp::max, "max", x, dims, keepdim);
}

Tensor min(const Tensor& x, const Dims& dims, bool keepdim) {
  return extreme(ReduceOp::min, "min", x, dims, keepdim);
}

Tensor variance(const Tensor& x, const Dims& dims, bool keepdim, int correction) {
  if (is_half(x.dtype()))
    return through_f32(x, [&](const Tensor& wide) { return variance(wide, dims, keepdim, correction); });
  const std::int64_t n = reduced_count(x, reduced_shape(x, dims, "variance"));
  const Tensor distance = square(x - mean(x, dims, true));
  return sum(distance, dims, keepdim) / static_cast<double>(std::max<std::int64_t>(0, n - correction));
}

Tensor argmax(const Tensor& x, int dim, bool keepdim) {
  return arg_extreme(ReduceOp::max, "argmax", x, dim, keepdim);
}

Tensor argmin(const Tensor& x, int dim, bool keepdim) {
  return arg_extreme(ReduceOp::min, "argmin", x, dim, keepdim);
}

Tensor any(const Tensor& x, const Dims& dims, bool keepdim) {
  return drop_reduced(holds(ReduceOp::max, "any", x, reduced_shape(x, dims, "any")), x, dims, keepdim);
}

Tensor all(const Tensor& x, const Dims& dims, bool keepdim) {
  return drop_reduced(holds(ReduceOp::min, "all", x, reduced_shape(x, dims, "all")), x, dims, keepdim);
}

Tensor stddev(const Tensor& x, const Dims& dims, bool keepdim, int correction) {
  return through_f32(x,
                     [&](const Tensor& wide) { return root(variance(wide, dims, keepdim, correction), 2); });
}

Tensor norm(const Tensor& given, double p, const Dims& dims, bool keepdim) {
  if (p == 2) {
    const Tensor x = as_float(given), y = norm_kept(x, reduced_shape(x, dims, "norm"));
    return drop_reduced(rounded(y, x), x, dims, keepdim);
  }
  return through_f32(as_float(given), [&](const Tensor& x) {
    if (p == INFINITY) return extreme(ReduceOp::max, "norm", abs(x), dims, keepdim);
    if (p == -INFINITY) return extreme(ReduceOp::min, "norm", abs(x), dims, keepdim);
    if (p == 0) return to(sum(not_equal(x, 0), dims, keepdim), x.dtype());
    if (p == 1) return sum(abs(x), dims, keepdim);
    return root(sum(pow(abs(x), p), dims, keepdim), p);
  });
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  if (broadcast(x.shape(), shape, "sum_to") != x.shape())
    throw ShapeError(str("sum_to cannot bring ", x.shape(), " to ", shape),
                     "the second does not broadcast to the first",
                     "give a shape whose sizes, from the right, are the tensor's or 1");
  Shape kept = Shape::filled(x.rank(), 1);  // `shape` with leading sizes of 1
  const int lead = x.rank() - shape.rank();
  for (int d = 0; d < shape.rank(); ++d) kept[lead + d] = shape[d];
  return reshape(sum_kept(x, kept), shape);
}

}  // namespace veldt
