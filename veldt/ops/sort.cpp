// Sorts by indices that a kernel finds, and reads values and gradients by them.
#include "veldt/ops/sort.h"

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {

namespace {

// The first k of each line's order along dimension d; the name of the op is for reports of where the graph
// ends.
Tensor order_of(const char* op, const Tensor& x, int d, bool descending, std::int64_t k) {
  Shape shape = x.shape();
  shape[d] = k;
  const Tensor out = empty(shape, DType::i64, x.device());
  kernels(x).argsort(x.view(), d, descending, out.view());
  mark_cut(out, x, op);
  return out;
}

// Sorting a number returns it.
Sorted sorted_number(const char* op, const Tensor& x, int dim) {
  wrap_dim(dim, 1, op);
  return {x, zeros({}, DType::i64, x.device())};
}

}  // namespace

Tensor argsort(const Tensor& x, int dim, bool descending) {
  if (x.rank() == 0) return sorted_number("argsort", x, dim).indices;
  const int d = wrap_dim(dim, x.rank(), "argsort");
  return order_of("argsort", x, d, descending, x.size(d));
}

Sorted sort(const Tensor& x, int dim, bool descending) {
  if (x.rank() == 0) return sorted_number("sort", x, dim);
  const int d = wrap_dim(dim, x.rank(), "sort");
  const Tensor order = order_of("sort", x, d, descending, x.size(d));
  return {gather_within(x, d, order), order};
}

Sorted topk(const Tensor& x, std::int64_t k, int dim, bool largest) {
  if (x.rank() == 0 && k == 1) return sorted_number("topk", x, dim);
  const int d = wrap_dim(dim, x.rank(), "topk");
  if (k < 0 || k > x.size(d))
    throw ShapeError(str("topk cannot take ", k, " elements of dimension ", d),
                     str("its size is ", x.size(d)), str("take 0 to ", x.size(d)));
  const Tensor order = order_of("topk", x, d, largest, k);
  return {gather_within(x, d, order), order};
}

namespace {

int small_dim(const char* op, std::int64_t dim, const Tensor& x) {
  if (dim < -kMaxRank || dim >= kMaxRank)
    throw ShapeError(str(op, " cannot go along dimension ", dim, " of ", x.shape()),
                     str("a tensor has at most ", kMaxRank), "give a dimension of the tensor");
  return static_cast<int>(dim);
}

// What stands at place [.., 1, ..] of each line along dimension d.
Sorted taken(const Tensor& x, int d, const Tensor& place, bool keepdim) {
  const Tensor values = gather_within(x, d, place);
  return {keepdim ? values : squeeze(values, d), keepdim ? place : squeeze(place, d)};
}

}  // namespace

Sorted detail::Extremes::largest(const Tensor& x, std::int64_t dim, bool keepdim) {
  const int at = small_dim("max", dim, x);
  if (x.rank() == 0) return sorted_number("max", x, at);
  return taken(x, wrap_dim(at, x.rank(), "max"), argmax(x, at, true), keepdim);
}

Sorted detail::Extremes::smallest(const Tensor& x, std::int64_t dim, bool keepdim) {
  const int at = small_dim("min", dim, x);
  if (x.rank() == 0) return sorted_number("min", x, at);
  return taken(x, wrap_dim(at, x.rank(), "min"), argmin(x, at, true), keepdim);
}

Sorted median(const Tensor& x, int dim, bool keepdim) {
  if (x.rank() == 0) return sorted_number("median", x, dim);
  const int d = wrap_dim(dim, x.rank(), "median");
  const std::int64_t n = x.size(d);
  if (n == 0)
    throw ShapeError(str("median has nothing to choose from in dimension ", d, " of ", x.shape()),
                     "its size is 0", "leave out empty lines");
  const Tensor order = order_of("median", x, d, false, n);
  const Tensor middle = slice(order, d, (n - 1) / 2, (n - 1) / 2 + 1);
  if (!is_float(x.dtype())) return taken(x, d, contiguous(middle), keepdim);
  const Tensor last = slice(order, d, n - 1, n);  // a NaN if there is one
  const Tensor none = isnan(gather_within(x.detach(), d, contiguous(last)));
  return taken(x, d, where(none, last, middle), keepdim);
}

Tensor median(const Tensor& x) { return median(reshape(x, {-1}), 0).values; }

}  // namespace veldt
