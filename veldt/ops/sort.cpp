#include "veldt/ops/sort.h"

#include "veldt/core/error.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {

namespace {

// The first k of each line's order.
Tensor order_of(const Tensor& x, int dim, bool descending, std::int64_t k, const char* op) {
  Shape shape = x.shape();
  shape[dim] = k;
  const Tensor out = empty(shape, DType::i64, x.device());
  kernels(x).argsort(x.view(), dim, descending, out.view(), nullptr);
  mark_cut(out, x, op);
  return out;
}

}  // namespace

Tensor argsort(const Tensor& x, int dim, bool descending) {
  const int d = wrap_dim(dim, x.rank(), "argsort");
  return order_of(x, d, descending, x.size(d), "argsort");
}

Sorted sort(const Tensor& x, int dim, bool descending) {
  const int d = wrap_dim(dim, x.rank(), "sort");
  const Tensor order = order_of(x, d, descending, x.size(d), "sort");
  return {gather_within(x, d, order), order};
}

Sorted topk(const Tensor& x, std::int64_t k, int dim, bool largest) {
  const int d = wrap_dim(dim, x.rank(), "topk");
  if (k < 0 || k > x.size(d))
    throw ShapeError(str("topk cannot take ", k, " elements of dimension ", d),
                     str("its size is ", x.size(d)), str("take 0 to ", x.size(d)));
  const Tensor order = order_of(x, d, largest, k, "topk");
  return {gather_within(x, d, order), order};
}

}  // namespace veldt
