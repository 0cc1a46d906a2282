// A linear recurrence, y_t = f_t y_(t-1) + x_t, of which running sums and products are special cases. So is
// its gradient, run the other way: h_t = g_t + f_(t+1) h_(t+1) is that of x_t, and h_t y_(t-1) that of f_t.
// No step divides, so zeros are not a special case, to any order.
#include "veldt/ops/scan.h"

#include <numeric>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

// The dtype from which integers are accumulated, and halves under an Autocast.
Tensor source_of(const Tensor& x) { return is_float(x.dtype()) ? widened(x) : to(x, DType::i64); }

Tensor constant_slice(const Tensor& x, int dim, double value) {
  Shape shape = x.shape();
  shape[dim] = 1;
  return full(shape, value, x.dtype(), x.device());
}

// x shifted by one position along dim, with `first` in the free place; `reverse`: towards the front.
Tensor shifted(const Tensor& x, int dim, bool reverse, double first) {
  const std::int64_t n = x.size(dim);
  if (n == 0) return x;
  const Tensor edge = constant_slice(x, dim, first);
  return reverse ? cat({slice(x, dim, 1, n), edge}, dim) : cat({edge, slice(x, dim, 0, n - 1)}, dim);
}

// `factor` may be undefined: 1 everywhere.
Tensor recurrence(const Tensor& x, const Tensor& factor, int dim, bool reverse) {
  const Tensor out = empty_along(x.shape(), x.dtype(), {&x});
  View f;
  if (factor.defined()) f = factor.view();
  kernels(x).recurrence(ReduceOp::sum, x.view(), factor.defined() ? &f : nullptr, dim, reverse, out.view());
  return record("recurrence", out, {x, factor},
                [x, factor, dim, reverse, kept = out.detach()](const Tensor& g) -> Grads {
                  if (!factor.defined()) return {recurrence(g, factor, dim, !reverse), Tensor()};
                  const Tensor h = recurrence(g, shifted(factor, dim, !reverse, 0), dim, !reverse);
                  if (!needs_grad(factor)) return {h, Tensor()};
                  const Tensor y = grad_enabled() ? recurrence(x, factor, dim, reverse) : kept;
                  return {h, h * shifted(y, dim, reverse, 0)};
                });
}

// Products of x up to and with each position: p_t = x_t p_(t-1). With h_t = g_t + x_(t+1) h_(t+1) the
// gradient of x_t is h_t p_(t-1).
Tensor products(const Tensor& x, int dim, bool reverse) {
  const Tensor out = empty_along(x.shape(), x.dtype(), {&x});
  kernels(x).recurrence(ReduceOp::prod, x.view(), nullptr, dim, reverse, out.view());
  return record("cumprod", out, {x}, [x, dim, reverse, kept = out.detach()](const Tensor& g) -> Grads {
    const Tensor factors = to(x, wide_dtype(x));
    const Tensor h = recurrence(to(g, factors.dtype()), shifted(factors, dim, !reverse, 0), dim, !reverse);
    const bool anew = grad_enabled() || is_half(x.dtype());
    return {to(h * shifted(anew ? products(factors, dim, reverse) : kept, dim, reverse, 1), x.dtype())};
  });
}

Sorted extremes(const char* op, ReduceOp which, const Tensor& given, int dim) {
  Tensor indices;
  const Tensor values = along_dim(op, given, dim, [&](const Tensor& x, int d) {
    indices = empty(x.shape(), DType::i64, x.device());
    kernels(x).running_extreme(which, x.view(), d, indices.view());
    return gather_within(x, d, indices);
  });
  return {values, reshape(indices, given.shape())};
}

// g times the product of all other elements of the reduced dimensions, which are merged into one line.
Tensor product_gradient(const Tensor& x, const Tensor& g, const std::vector<int>& order, int kept) {
  const Tensor moved = permute(x, order);
  Shape lines;
  for (int d = 0; d < kept; ++d) lines.push_back(moved.size(d));
  lines.push_back(-1);
  const Tensor line = reshape(moved, lines);
  const Tensor others = shifted(products(line, kept, false), kept, false, 1) *
                        shifted(products(line, kept, true), kept, true, 1);
  std::vector<int> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return g * permute(reshape(others, moved.shape()), back);
}

}  // namespace

Tensor cumsum(const Tensor& given, int dim) {
  return along_dim("cumsum", source_of(given), dim,
                   [](const Tensor& x, int d) { return recurrence(x, {}, d, false); });
}

Tensor cumprod(const Tensor& given, int dim) {
  return along_dim("cumprod", source_of(given), dim,
                   [](const Tensor& x, int d) { return products(x, d, false); });
}

Sorted cummax(const Tensor& x, int dim) { return extremes("cummax", ReduceOp::max, x, dim); }
Sorted cummin(const Tensor& x, int dim) { return extremes("cummin", ReduceOp::min, x, dim); }

Tensor prod(const Tensor& given, const Dims& dims, bool keepdim) {
  const Shape kept = reduced_shape(given, dims, "prod");
  const Tensor x = source_of(given), y = empty(kept, wide_dtype(x), x.device());
  kernels(x).reduce(ReduceOp::prod, x.view(), y.view());
  const Tensor out = record("prod", y, {x}, [x, kept](const Tensor& g) -> Grads {
    if (x.numel() == 0) return {expand(to(g, x.dtype()), x.shape())};  // nothing, but in the graph
    std::vector<int> order;
    for (int d = 0; d < x.rank(); ++d)
      if (kept[d] == x.size(d)) order.push_back(d);
    const int count = static_cast<int>(order.size());
    for (int d = 0; d < x.rank(); ++d)
      if (kept[d] != x.size(d)) order.push_back(d);
    return {to(product_gradient(to(x, g.dtype()), g, order, count), x.dtype())};
  });
  return drop_reduced(rounded(out, x), given, dims, keepdim);
}

}  // namespace veldt
