// Calls the kernels of softmax and its gradient, and computes gradients of higher orders by ops.
#include "veldt/ops/softmax.h"

#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

// Whether both are in one order in memory; the stride of a dimension of size 1 does not matter.
bool lie_alike(const Tensor& x, const Tensor& y) {
  for (int d = 0; d < x.rank(); ++d)
    if (x.size(d) > 1 && x.strides()[d] != y.strides()[d]) return false;
  return true;
}

// `dtype` is x's, or f32 where x holds halves. An x with gaps is copied first, as it is read three times.
Tensor run(bool log, const Tensor& x, int dim, DType dtype) {
  const Tensor y = empty_along(x.shape(), dtype, {&x});
  const bool dense = x.is_contiguous() || lie_alike(x, y);
  const Tensor from = dense ? x : empty_along(x.shape(), x.dtype(), {&x});
  if (!dense) kernels(x).copy(x.view(), from.view());
  kernels(x).softmax(log, from.view(), dim, y.view());
  return y;
}

// The gradient of the input for a gradient g of the result y; of y's dtype.
Tensor slope(bool log, const Tensor& y, const Tensor& g, int dim) {
  const Tensor by = to(g, y.dtype()), dx = empty_along(y.shape(), y.dtype(), {&y});
  kernels(y).softmax_slope(log, y.view(), by.view(), dim, dx.view());
  return dx;
}

}  // namespace

Tensor softmax(const Tensor& given, int dim) {
  return along_dim("softmax", widened(as_float(given)), dim, [](const Tensor& x, int d) {
    const Tensor out = run(false, x, d, x.dtype());
    return record("softmax", out, {x}, [x, d, kept = out.detach()](const Tensor& g) -> Grads {
      if (!grad_enabled()) return {slope(false, kept, g, d)};
      const Tensor y = to(softmax(x, d), wide_dtype(x)), gy = to(g, y.dtype()) * y;
      return {to(gy - y * sum(gy, {d}, true), x.dtype())};
    });
  });
}

Tensor log_softmax(const Tensor& given, int dim) {
  return along_dim("log_softmax", widened(as_float(given)), dim, [](const Tensor& x, int d) {
    const Tensor out = run(true, x, d, x.dtype());
    return record("log_softmax", out, {x}, [x, d, kept = out.detach()](const Tensor& given_g) -> Grads {
      if (!grad_enabled() && !is_half(x.dtype())) return {slope(true, kept, given_g, d)};
      if (!grad_enabled()) {  // a half's logarithm has too few digits for the exponential
        const Tensor all =
            reduced_to(DType::f32, ReduceOp::sum, given_g, reduced_shape(x, {d}, "log_softmax"));
        return {multiply_add_to(x.dtype(), run(false, x, d, DType::f32), -all, given_g)};
      }
      const Tensor g = to(given_g, wide_dtype(x));
      return {to(g - softmax(to(x, g.dtype()), d) * sum(g, {d}, true), x.dtype())};
    });
  });
}

// log(sum e^(x - m)) + m with the largest m, a constant; if that is infinite or NaN, the sum is too.
Tensor logsumexp(const Tensor& given, const Dims& dims, bool keepdim) {
  return through_f32(as_float(given), [&](const Tensor& x) {
    if (x.numel() == 0) return log(sum(x, dims, keepdim));
    const Tensor most = max(x.detach(), dims, true);
    const Tensor shift = where(isfinite(most), most, zeros_like(most));
    const Tensor total = log(sum(exp(x - shift), dims, keepdim));
    return total + reshape(shift, total.shape());
  });
}

}  // namespace veldt
