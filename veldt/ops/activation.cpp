#include "veldt/ops/activation.h"

#include <cmath>
#include <numbers>

#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/unary.h"
#include "veldt/ops/unary_op.h"

namespace veldt {
namespace {

Tensor like(const Tensor& x, double value) { return full({}, value, x.dtype(), x.device()); }

// above where x > bound, else below
Tensor beyond(const Tensor& x, double bound, const Tensor& above, const Tensor& below) {
  return where(greater(x, bound), above, below);
}

// e^(x / alpha) below 0; the exponential of what is chosen away stays finite, so that its slope does.
Tensor tail(const Tensor& x, double alpha) { return exp(clamp(x, -INFINITY, 0.0) / alpha); }

}  // namespace

Tensor leaky_relu(const Tensor& x, double slope) {
  return unary<scalar::LeakyRelu>(
      x, {slope, 0}, [](const Tensor& t, Scalars s) { return beyond(t, 0, like(t, 1), like(t, s.a)); });
}

Tensor elu(const Tensor& x, double alpha) {
  return unary<scalar::Elu>(
      x, {alpha, 0}, [](const Tensor& t, Scalars s) { return beyond(t, 0, like(t, 1), s.a * tail(t, 1)); });
}

Tensor selu(const Tensor& x) {
  return unary<scalar::Selu>(x, {}, [](const Tensor& t, Scalars) {
    constexpr double scale = scalar::Selu::scale, alpha = scalar::Selu::alpha;
    return beyond(t, 0, like(t, scale), scale * alpha * tail(t, 1));
  });
}

Tensor celu(const Tensor& x, double alpha) {
  if (alpha == 0)
    throw ConfigError("celu cannot have an alpha of 0", "it divides by it", "use relu, which is its limit");
  return unary<scalar::Celu>(
      x, {alpha, 0}, [](const Tensor& t, Scalars s) { return beyond(t, 0, like(t, 1), tail(t, s.a)); });
}

Tensor gelu(const Tensor& x) {
  return unary<scalar::Gelu>(x, {}, [](const Tensor& t, Scalars) {
    const Tensor share = 0.5 * erfc(t * -std::sqrt(0.5));
    const Tensor density = std::sqrt(0.5) * std::numbers::inv_sqrtpi * exp(-0.5 * square(t));
    return share + t * density;
  });
}

Tensor gelu_tanh(const Tensor& x) {
  return unary<scalar::GeluTanh>(x, {}, [](const Tensor& t, Scalars) {
    constexpr double rate = scalar::GeluTanh::rate;
    const Tensor cubic = 0.044715 * square(t);
    const Tensor s = sigmoid(rate * (t * (1 + cubic)));
    return s + s * (1 - s) * (rate * (t * (1 + 3 * cubic)));
  });
}

Tensor silu(const Tensor& x) {
  return unary<scalar::Silu>(x, {}, [](const Tensor& t, Scalars) {
    const Tensor s = sigmoid(t);
    return s + t * s * (1 - s);
  });
}

Tensor mish(const Tensor& x) {
  return unary<scalar::Mish>(x, {}, [](const Tensor& t, Scalars) {
    const Tensor y = tanh(softplus(t));
    return y + t * (1 - square(y)) * sigmoid(t);
  });
}

Tensor softsign(const Tensor& x) {
  return unary<scalar::Softsign>(x, {}, [](const Tensor& t, Scalars) { return pow(1 + abs(t), -2); });
}

Tensor hardsigmoid(const Tensor& x) {
  return unary<scalar::Hardsigmoid>(x, {}, [](const Tensor& t, Scalars) {
    const Tensor zero = like(t, 0);
    return beyond(t, -3, where(less(t, 3), like(t, 1.0 / 6), zero), zero);
  });
}

Tensor hardswish(const Tensor& x) {
  return unary<scalar::Hardswish>(x, {}, [](const Tensor& t, Scalars) {
    const Tensor inside = t / 3 + 0.5;
    return beyond(t, -3, where(less(t, 3), inside, like(t, 1)), like(t, 0));
  });
}

Tensor hardtanh(const Tensor& x, double low, double high) { return clamp(as_float(x), low, high); }
Tensor relu6(const Tensor& x) { return clamp(x, 0, 6); }

Tensor logsigmoid(const Tensor& x) {
  return unary<scalar::LogSigmoid>(x, {}, [](const Tensor& t, Scalars) { return sigmoid(-t); });
}

}  // namespace veldt
