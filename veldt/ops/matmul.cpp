#include "veldt/ops/matmul.h"

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

void check(const Tensor& a, const Tensor& b) {
  if (a.rank() < 2 || b.rank() < 2 || a.size(-1) != b.size(-2))
    throw ShapeError(str("matmul cannot multiply ", a.shape(), " by ", b.shape()),
                     a.rank() < 2 || b.rank() < 2
                         ? str("both sides need two dimensions or more")
                         : str("the inner sizes ", a.size(-1), " and ", b.size(-2), " differ"),
                     "transpose one side, or check the layer's input size");
  if (a.dtype() != b.dtype() || a.device() != b.device())
    throw ShapeError(
        str("matmul cannot multiply ", a.dtype(), " on ", a.device(), " by ", b.dtype(), " on ", b.device()),
        "dtype and device of both sides must agree", "convert one side with to()");
}

Shape batch_of(const Tensor& t) {
  Shape s;
  for (int d = 0; d + 2 < t.rank(); ++d) s.push_back(t.size(d));
  return s;
}

Shape with_matrix(Shape batch, std::int64_t rows, std::int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

// t with its leading dimensions broadcast to `batch` and merged into one, for the kernel.
Tensor as_rank3(const Tensor& t, const Shape& batch) {
  NoGrad off;
  const Tensor wide = expand(t.detach(), with_matrix(batch, t.size(-2), t.size(-1)));
  return reshape(wide, {numel(batch), t.size(-2), t.size(-1)});
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check(a, b);
  const Shape batch = broadcast(batch_of(a), batch_of(b), "matmul");
  const Tensor out = empty(with_matrix(batch, a.size(-2), b.size(-1)), a);
  kernels(a).matmul(as_rank3(a, batch).view(), as_rank3(b, batch).view(), nullptr,
                    as_rank3(out, batch).view(), nullptr);
  return record("matmul", out, {a, b}, [a, b](const Tensor& g) -> Grads {
    return {needs_grad(a) ? sum_to(matmul(g, transpose(b)), a.shape()) : Tensor(),
            needs_grad(b) ? sum_to(matmul(transpose(a), g), b.shape()) : Tensor()};
  });
}

Tensor linear(const Tensor& x, const Tensor& w, const Tensor& bias) {
  if (x.rank() < 1 || w.rank() != 2 || x.size(-1) != w.size(1))
    throw ShapeError(str("linear cannot apply a weight of ", w.shape(), " to ", x.shape()),
                     "the weight is [out, in], and in must equal the last size of the input",
                     "check the layer's input size");
  if (bias.defined() && bias.shape() != Shape{w.size(0)})
    throw ShapeError(str("linear cannot add a bias of ", bias.shape()),
                     str("the layer has ", w.size(0), " outputs"),
                     str("give a bias of shape [", w.size(0), "]"));
  if (x.dtype() != w.dtype() || (bias.defined() && bias.dtype() != w.dtype()))
    throw ShapeError(str("linear cannot apply a weight of ", w.dtype(), " to ", x.dtype()),
                     "all of input, weight and bias need one dtype",
                     "convert the input or the layer with to()");
  const std::int64_t in = w.size(1), n_out = w.size(0);
  const Tensor flat = reshape(x, {in == 0 ? numel(x.shape().without(x.rank() - 1)) : x.numel() / in, in});
  const Tensor out = empty({1, flat.size(0), n_out}, x);
  View bias_view;
  if (bias.defined()) bias_view = broadcast_view(bias, out.shape());
  kernels(x).matmul(as_rank3(flat, {1}).view(), as_rank3(transpose(w.detach()), {1}).view(),
                    bias.defined() ? &bias_view : nullptr, out.view(), nullptr);
  Tensor y = out.alias({flat.size(0), n_out}, {n_out, 1}, 0);
  y = record("linear", y, {flat, w, bias}, [flat, w, bias](const Tensor& g) -> Grads {
    return {needs_grad(flat) ? matmul(g, w) : Tensor(), needs_grad(w) ? matmul(transpose(g), flat) : Tensor(),
            bias.defined() && needs_grad(bias) ? sum(g, {0}) : Tensor()};
  });
  Shape shape = x.shape();
  shape[x.rank() - 1] = n_out;
  return reshape(y, shape);
}

}  // namespace veldt
