// Each op twice: the kernel computes forward and, in one pass, gradient times slope. The expression beside it
// is the same slope written with ops; it is used when the gradient itself is going to be differentiated.
#include "veldt/ops/unary.h"

#include <functional>

#include "veldt/core/error.h"
#include "veldt/kernels/unary-inl.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

using SlopeExpression = std::function<Tensor(const Tensor& x)>;

template <class Op> Tensor unary(const Tensor& x, Scalars scalars, SlopeExpression slope) {
  constexpr int op = IndexOf<Op, scalar::UnaryOps>::value;
  const Tensor y = empty(x.shape(), x);
  kernels(x).unary(op, scalars, x.view(), y.view(), nullptr);
  return record(Op::name, y, {x},
                [x, kept = y.detach(), scalars, slope = std::move(slope)](const Tensor& g) -> Grads {
                  if (grad_enabled()) return {g * slope(x)};
                  const Tensor out = empty(x.shape(), x);
                  kernels(x).unary_slope(op, scalars, x.view(), kept.view(), g.view(), out.view(), nullptr);
                  return {out};
                });
}

// 1 where x lies within the bounds: the slope of clamp, and with an infinite top that of relu.
Tensor inside(const Tensor& x, double low, double high) {
  const Tensor one = full({}, 1, x.dtype(), x.device()), zero = full({}, 0, x.dtype(), x.device());
  const Tensor lower = where(less(x, full({}, low, x.dtype(), x.device())), zero, one);
  return where(greater(x, full({}, high, x.dtype(), x.device())), zero, lower);
}

}  // namespace

Tensor affine(const Tensor& x, double scale, double shift) {
  return unary<scalar::Affine>(x, {scale, shift},
                               [scale](const Tensor& t) { return full({}, scale, t.dtype(), t.device()); });
}

Tensor neg(const Tensor& x) { return affine(x, -1, -0.0); }  // -0.0 keeps the sign of zero

Tensor abs(const Tensor& x) {
  return unary<scalar::Abs>(x, {}, [](const Tensor& t) { return sign(t); });
}

Tensor sign(const Tensor& x) {
  return unary<scalar::Sign>(x, {}, [](const Tensor& t) { return zeros_like(t); });
}

Tensor exp(const Tensor& x) {
  return unary<scalar::Exp>(x, {}, [](const Tensor& t) { return exp(t); });
}

Tensor log(const Tensor& x) {
  return unary<scalar::Log>(x, {}, [](const Tensor& t) { return pow(t, -1); });
}

Tensor sqrt(const Tensor& x) {
  return unary<scalar::Sqrt>(x, {}, [](const Tensor& t) { return 0.5 * pow(t, -0.5); });
}

Tensor square(const Tensor& x) {
  return unary<scalar::Square>(x, {}, [](const Tensor& t) { return 2 * t; });
}

Tensor pow(const Tensor& x, double p) {
  return unary<scalar::PowScalar>(
      x, {p, 0}, [p](const Tensor& t) { return p == 0 ? zeros_like(t) : p * pow(t, p - 1); });
}

Tensor clamp(const Tensor& x, double low, double high) {
  if (!(low <= high))
    throw ConfigError(str("clamp cannot keep values between ", low, " and ", high),
                      "the lower bound is the higher", "swap the bounds");
  return unary<scalar::Clamp>(x, {low, high}, [low, high](const Tensor& t) { return inside(t, low, high); });
}

Tensor sin(const Tensor& x) {
  return unary<scalar::Sin>(x, {}, [](const Tensor& t) { return cos(t); });
}

Tensor cos(const Tensor& x) {
  return unary<scalar::Cos>(x, {}, [](const Tensor& t) { return -sin(t); });
}

Tensor tanh(const Tensor& x) {
  return unary<scalar::Tanh>(x, {}, [](const Tensor& t) { return 1 - square(tanh(t)); });
}

Tensor sigmoid(const Tensor& x) {
  return unary<scalar::Sigmoid>(x, {}, [](const Tensor& t) {
    const Tensor y = sigmoid(t);
    return y * (1 - y);
  });
}

Tensor softplus(const Tensor& x) {
  return unary<scalar::Softplus>(x, {}, [](const Tensor& t) { return sigmoid(t); });
}

Tensor relu(const Tensor& x) {
  return unary<scalar::Relu>(x, {}, [](const Tensor& t) {
    const Tensor one = ones_like(t), zero = zeros_like(t);
    return where(greater(t, zero), one, zero);
  });
}

Tensor sine(const Tensor& x, double omega) {
  return unary<scalar::Sine>(x, {omega, 0}, [omega](const Tensor& t) { return omega * cos(omega * t); });
}

Tensor gauss(const Tensor& x, double scale) {
  return unary<scalar::Gauss>(
      x, {scale, 0}, [scale](const Tensor& t) { return (-2 * scale * scale) * (t * gauss(t, scale)); });
}

Tensor finer(const Tensor& x, double omega) {
  return unary<scalar::Finer>(x, {omega, 0}, [omega](const Tensor& t) {
    const Tensor a = abs(t);
    return omega * (2 * a + 1) * cos(omega * ((a + 1) * t));
  });
}

}  // namespace veldt
