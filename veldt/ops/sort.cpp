// Sorts by indices that a kernel finds, and reads values and gradients by them.
#include "veldt/ops/sort.h"

#include "veldt/core/error.h"
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

}  // namespace veldt
