#include "veldt/ops/softmax.h"

#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

Tensor run(bool log, const Tensor& x, int dim) {
  const Tensor y = empty(x.shape(), x);
  kernels(x).softmax(log, x.view(), dim, y.view(), nullptr);
  return y;
}

}  // namespace

Tensor softmax(const Tensor& given, int dim) {
  return along_dim("softmax", widened(as_float(given)), dim, [](const Tensor& x, int d) {
    const Tensor out = run(false, x, d);
    return record("softmax", out, {x}, [x, d, kept = out.detach()](const Tensor& g) -> Grads {
      const Tensor y = to(grad_enabled() ? softmax(x, d) : kept, wide_dtype(x)), gy = to(g, y.dtype()) * y;
      return {to(gy - y * sum(gy, {d}, true), x.dtype())};
    });
  });
}

Tensor log_softmax(const Tensor& given, int dim) {
  return along_dim("log_softmax", widened(as_float(given)), dim, [](const Tensor& x, int d) {
    const Tensor out = run(true, x, d);
    return record("log_softmax", out, {x}, [x, d, kept = out.detach()](const Tensor& given_g) -> Grads {
      // A half's logarithm has too few digits to be raised again.
      const Tensor g = to(given_g, wide_dtype(x));
      const Tensor y = grad_enabled() || is_half(x.dtype()) ? softmax(to(x, g.dtype()), d) : exp(kept);
      return {to(g - y * sum(g, {d}, true), x.dtype())};
    });
  });
}

// log(sum e^(x - m)) + m with the largest m, a constant; where that is infinite or NaN the sum says so
// itself.
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
