#include "veldt/ops/sort.h"

#include "veldt/core/error.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {

Tensor argsort(const Tensor& x, int dim, bool descending) {
  const int d = wrap_dim(dim, x.rank(), "argsort");
  const Tensor source = is_half(x.dtype()) ? to(x.detach(), DType::f32) : x;
  const Tensor out = empty(x.shape(), DType::i64, x.device());
  kernels(x).argsort(source.view(), d, descending, out.view(), nullptr);
  mark_cut(out, x, "argsort");
  return out;
}

Sorted sort(const Tensor& x, int dim, bool descending) {
  const Tensor order = argsort(x, dim, descending);
  return {gather_within(x, wrap_dim(dim, x.rank(), "sort"), order), order};
}

Sorted topk(const Tensor& x, std::int64_t k, int dim, bool largest) {
  const int d = wrap_dim(dim, x.rank(), "topk");
  if (k < 0 || k > x.size(d))
    throw ShapeError(str("topk cannot take ", k, " elements of dimension ", d),
                     str("its size is ", x.size(d)), str("take 0 to ", x.size(d)));
  const Tensor order = contiguous(slice(argsort(x, d, largest), d, 0, k));
  return {gather_within(x, d, order), order};
}

}  // namespace veldt
