// Converts products of any ranks and layouts to batches of matrices for the kernel, and their gradients too.
#include "veldt/ops/matmul.h"

#include <algorithm>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

void check_product(const Tensor& a, const Tensor& b) {
  if (a.rank() < 1 || b.rank() < 1 || a.size(-1) != b.size(b.rank() == 1 ? 0 : -2))
    throw ShapeError(str("matmul cannot multiply ", a.shape(), " by ", b.shape()),
                     a.rank() < 1 || b.rank() < 1 ? str("both sides need a dimension")
                                                  : str("the inner sizes ", a.size(-1), " and ",
                                                        b.size(b.rank() == 1 ? 0 : -2), " differ"),
                     "transpose one side, or check the layer's input size");
  check_same_device("matmul", a, b);
  if (a.dtype() != b.dtype())
    throw ShapeError(str("matmul cannot multiply ", a.dtype(), " by ", b.dtype()), "the dtypes differ",
                     "convert one side with to()");
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

// The dtype that the device multiplies t as, for a product [m, n].
DType computed_in(const Tensor& t, std::int64_t m, std::int64_t n) {
  return kernels(t).multiplies(t.dtype(), m, n) ? t.dtype() : DType::f32;
}
// The rows of all matrices of t together, if each has so many columns.
std::int64_t rows_of(const Tensor& t, std::int64_t columns) {
  return t.numel() / std::max<std::int64_t>(1, columns);
}

// A tensor of rank 2 as a batch of one, for the kernel.
View matrix_view(const Tensor& t) {
  View v = t.view();
  v.shape = {1, t.size(0), t.size(1)};
  v.strides = {0, t.strides()[0], t.strides()[1]};
  return v;
}

// t with its leading dimensions broadcast to `batch` and merged into one, for the kernel. `kept` holds the
// memory where that takes a copy.
View as_rank3(const Tensor& t, const Shape& batch, Tensor& kept) {
  if (batch.rank() == 0 && t.rank() == 2) return matrix_view(t);
  if (batch.rank() == 1 && t.rank() == 3 && t.size(0) == batch[0]) return t.view();
  NoGrad off;
  kept = reshape(expand(t.detach(), with_matrix(batch, t.size(-2), t.size(-1))),
                 {numel(batch), t.size(-2), t.size(-1)});
  return kept.view();
}

// Whether the rows of g are a multiple of 4 KiB apart. Then the elements of a column share few cache sets,
// and a product that reads g by columns takes up to 1.6 times as long.
bool columns_collide(const Tensor& g) {
  return static_cast<std::size_t>(g.strides()[0]) * size_of(g.dtype()) % 4096 == 0;
}

}  // namespace

Tensor weight_gradient(const Tensor& g, const Tensor& x) {
  if (columns_collide(g) && !columns_collide(x)) return transpose(matmul(transpose(x), g));
  return matmul(transpose(g), x);
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (casts(a, b)) return matmul(lowered(a), lowered(b));
  check_product(a, b);
  if (a.rank() == 1) {
    const Tensor y = matmul(unsqueeze(a, 0), b);
    return squeeze(y, b.rank() == 1 ? 0 : -2);
  }
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1)), -1);
  if (const DType dtype = a.dtype(), wide = computed_in(a, rows_of(a, a.size(-1)), rows_of(b, b.size(-2)));
      dtype != wide) {
    const Autocast off({});
    return to(matmul(to(a, wide), to(b, wide)), is_float(dtype) ? dtype : wide);
  }
  const Shape batch = broadcast(batch_of(a), batch_of(b), "matmul");
  const Tensor out = empty(with_matrix(batch, a.size(-2), b.size(-1)), a);
  Tensor kept_a, kept_b, kept_out;
  kernels(a).matmul(as_rank3(a, batch, kept_a), as_rank3(b, batch, kept_b), nullptr,
                    as_rank3(out, batch, kept_out));
  return record("matmul", out, {a, b}, [a, b](const Tensor& g) -> Grads {
    return {needs_grad(a) ? sum_to(matmul(g, transpose(b)), a.shape()) : Tensor(),
            needs_grad(b) ? sum_to(matmul(transpose(a), g), b.shape()) : Tensor()};
  });
}

Tensor dot(const Tensor& a, const Tensor& b) {
  if (a.rank() != 1 || b.rank() != 1)
    throw ShapeError(str("dot cannot multiply ", a.shape(), " by ", b.shape()), "it wants two lists",
                     "use matmul, or flatten() them");
  return matmul(a, b);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  if (a.rank() != 1 || b.rank() != 1)
    throw ShapeError(str("outer cannot multiply ", a.shape(), " by ", b.shape()), "it wants two lists",
                     "flatten() them");
  return unsqueeze(a, 1) * b;
}

Tensor linear(const Tensor& x, const Tensor& w, const Tensor& bias) {
  if (casts(x, w, bias)) return linear(lowered(x), lowered(w), lowered(bias));
  if (x.rank() < 1 || w.rank() != 2 || x.size(-1) != w.size(1))
    throw ShapeError(str("linear cannot apply a weight of ", w.shape(), " to ", x.shape()),
                     "the weight is [out, in], and in must equal the last size of the input",
                     "check the layer's input size");
  if (bias.defined() && bias.shape() != Shape{w.size(0)})
    throw ShapeError(str("linear cannot add a bias of ", bias.shape()),
                     str("the layer has ", w.size(0), " outputs"),
                     str("give a bias of shape [", w.size(0), "]"));
  check_same_device("linear", x, w);
  if (bias.defined()) check_same_device("linear", x, bias);
  if (x.dtype() != w.dtype() || (bias.defined() && bias.dtype() != w.dtype()))
    throw ShapeError(str("linear cannot apply a weight of ", w.dtype(), " to ", x.dtype()),
                     "all of input, weight and bias need one dtype",
                     "convert the input or the layer with to()");
  if (const DType dtype = x.dtype(), wide = computed_in(x, rows_of(x, w.size(1)), w.size(0)); dtype != wide) {
    const Autocast off({});
    return to(linear(to(x, wide), to(w, wide), bias.defined() ? to(bias, wide) : bias),
              is_float(dtype) ? dtype : wide);
  }
  const std::int64_t n_out = w.size(0);
  if (x.rank() != 2) {
    const Shape leading = x.shape().without(x.rank() - 1);
    const Tensor y = linear(reshape(x, {numel(leading), w.size(1)}), w, bias);
    return reshape(y, leading.with_inserted(leading.rank(), n_out));
  }
  const Tensor y = empty({x.size(0), n_out}, x);
  View transposed = matrix_view(w), bias_view;
  std::swap(transposed.shape[1], transposed.shape[2]);
  std::swap(transposed.strides[1], transposed.strides[2]);
  const View out = matrix_view(y);
  if (bias.defined()) bias_view = broadcast_view(bias, out.shape);
  kernels(x).matmul(matrix_view(x), transposed, bias.defined() ? &bias_view : nullptr, out);
  return record("linear", y, {x, w, bias}, [x, w, bias](const Tensor& g) -> Grads {
    return {needs_grad(x) ? matmul(g, w) : Tensor(), needs_grad(w) ? weight_gradient(g, x) : Tensor(),
            bias.defined() && needs_grad(bias) ? sum_to(g, bias.shape()) : Tensor()};
  });
}

}  // namespace veldt
