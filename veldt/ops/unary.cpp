#include "veldt/ops/unary.h"

#include <cmath>
#include <numbers>

#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/unary_op.h"

namespace veldt {
namespace {

constexpr auto kFlat = [](const Tensor& t, Scalars) {
  return zeros_like(t);
};  // the slope of a step function

void refuse_booleans(const char* op, const Tensor& x) {
  if (x.dtype() == DType::boolean)
    throw ShapeError(str(op, " cannot be taken of booleans"), "they are no numbers",
                     "convert them, for example to i64, or use logical_not");
}

// A formula of whole numbers, which have no gradient.
template <class Op> Tensor whole_unary(const Tensor& x, Scalars scalars) {
  const Tensor y = empty_along(x.shape(), x.dtype(), {&x});
  kernels(x).unary(IndexOf<Op, scalar::UnaryOps>::value, scalars, x.view(), y.view());
  return y;
}

// Whether a double may not hold it; 2^53 may be rounded already.
bool is_inexact(Scalar value) { return std::abs(value.real()) >= 0x1p53; }

// 1 where x lies between the bounds: the slope of clamp.
Tensor inside(const Tensor& x, double low, double high) {
  const Tensor one = full({}, 1, x.dtype(), x.device()), zero = full({}, 0, x.dtype(), x.device());
  return where(logical_and(greater(x, low), less(x, high)), one, zero);
}

}  // namespace

Tensor unary(const char* name, int op, const Tensor& given, Scalars scalars, SlopeExpression slope) {
  const Tensor x = as_float(given);
  const Tensor y = empty_along(x.shape(), x.dtype(), {&x});
  kernels(x).unary(op, scalars, x.view(), y.view());
  return record(name, y, {x}, [x, kept = y.detach(), op, scalars, slope](const Tensor& g) -> Grads {
    if (grad_enabled() && is_half(x.dtype()))  // as the kernel does: rounded once, not after each op
      return {to(to(g, DType::f32) * slope(to(x, DType::f32), scalars), x.dtype())};
    if (grad_enabled()) return {g * slope(x, scalars)};
    const Tensor out = empty_along(x.shape(), x.dtype(), {&x});
    kernels(x).unary_slope(op, scalars, x.view(), kept.view(), g.view(), out.view());
    return {out};
  });
}

Tensor affine(const Tensor& x, double scale, double shift) {
  return unary<scalar::Affine>(
      x, {scale, shift}, [](const Tensor& t, Scalars s) { return full({}, s.a, t.dtype(), t.device()); });
}

Tensor huber_of(const Tensor& x, double delta, double rate) {
  return unary<scalar::Huber>(x, {delta, rate},
                              [](const Tensor& t, Scalars s) { return s.b * clamp(t, -s.a, s.a); });
}

Tensor neg(const Tensor& x) {
  refuse_booleans("neg", x);
  return is_float(x.dtype()) ? affine(x, -1, -0.0) : 0 - x;  // -0.0 keeps the sign of zero
}

Tensor abs(const Tensor& x) {
  refuse_booleans("abs", x);
  if (x.dtype() == DType::u8) return x;
  if (!is_float(x.dtype())) return whole_unary<scalar::Abs>(x, {});
  return unary<scalar::Abs>(x, {}, [](const Tensor& t, Scalars) { return sign(t); });
}

Tensor sign(const Tensor& x) {
  refuse_booleans("sign", x);
  if (!is_float(x.dtype())) return clamp(x, x.dtype() == DType::u8 ? 0 : -1, 1);
  return unary<scalar::Sign>(x, {}, kFlat);
}

Tensor exp(const Tensor& x) {
  return unary<scalar::Exp>(x, {}, [](const Tensor& t, Scalars) { return exp(t); });
}

Tensor log(const Tensor& x) {
  return unary<scalar::Log>(x, {}, [](const Tensor& t, Scalars) { return reciprocal(t); });
}

Tensor sqrt(const Tensor& x) {
  return unary<scalar::Sqrt>(x, {}, [](const Tensor& t, Scalars) { return 0.5 * pow(t, -0.5); });
}

Tensor square(const Tensor& x) {
  refuse_booleans("square", x);
  if (!is_float(x.dtype())) return x * x;
  return unary<scalar::Square>(x, {}, [](const Tensor& t, Scalars) { return 2 * t; });
}

Tensor power(const Tensor& x, double p) {
  if (p == 2) return square(x);
  return unary<scalar::PowScalar>(
      x, {p, 0}, [](const Tensor& t, Scalars s) { return s.a == 0 ? zeros_like(t) : s.a * pow(t, s.a - 1); });
}

Tensor clamp(const Tensor& x, Scalar low, Scalar high) {
  if (!(low.real() <= high.real()))
    throw ConfigError(str("clamp cannot keep values between ", low.real(), " and ", high.real()),
                      "the lower bound is the higher", "swap the bounds");
  const DType dtype = x.dtype();
  if (!is_float(dtype) && low.is_whole() && high.is_whole()) {
    if (dtype == DType::boolean || is_inexact(low) || is_inexact(high)) return minimum(maximum(x, low), high);
    check_holds(dtype, low);
    check_holds(dtype, high);
    return whole_unary<scalar::Clamp>(x, {low.real(), high.real()});
  }
  const double least = low.real(), most = high.real();
  return unary<scalar::Clamp>(x, {least, most},
                              [](const Tensor& t, Scalars s) { return inside(t, s.a, s.b); });
}

Tensor sin(const Tensor& x) {
  return unary<scalar::Sin>(x, {}, [](const Tensor& t, Scalars) { return cos(t); });
}

Tensor cos(const Tensor& x) {
  return unary<scalar::Cos>(x, {}, [](const Tensor& t, Scalars) { return -sin(t); });
}

Tensor tanh(const Tensor& x) {
  return unary<scalar::Tanh>(x, {}, [](const Tensor& t, Scalars) { return 1 - square(tanh(t)); });
}

Tensor sigmoid(const Tensor& x) {
  return unary<scalar::Sigmoid>(x, {}, [](const Tensor& t, Scalars) {
    const Tensor y = sigmoid(t);
    return y * (1 - y);
  });
}

Tensor softplus(const Tensor& x) {
  return unary<scalar::Softplus>(x, {}, [](const Tensor& t, Scalars) { return sigmoid(t); });
}

Tensor relu(const Tensor& x) {
  refuse_booleans("relu", x);
  if (!is_float(x.dtype())) return maximum(x, 0);
  return unary<scalar::Relu>(x, {}, [](const Tensor& t, Scalars) {
    const Tensor one = full({}, 1, t.dtype(), t.device()), zero = full({}, 0, t.dtype(), t.device());
    return where(greater(t, zero), one, zero);
  });
}

Tensor quotient(const Tensor& x, double divisor) {
  // Written out, because the gradient too is divided, not multiplied by a rounded slope.
  const Tensor y = empty_along(x.shape(), x.dtype(), {&x});
  kernels(x).unary(IndexOf<scalar::Quotient, scalar::UnaryOps>::value, {divisor, 0}, x.view(), y.view());
  return record(
      "div", y, {x}, [divisor](const Tensor& g) -> Grads { return {quotient(g, divisor)}; }, false);
}

Tensor inverse(const Tensor& x, double numerator) {
  return unary<scalar::Inverse>(x, {numerator, 0}, [](const Tensor& t, Scalars s) { return (-s.a / t) / t; });
}

Tensor reciprocal(const Tensor& x) { return inverse(as_float(x), 1); }

Tensor rsqrt(const Tensor& x) {
  return unary<scalar::Rsqrt>(x, {}, [](const Tensor& t, Scalars) { return -0.5 * rsqrt(t) / t; });
}

Tensor floor(const Tensor& x) {
  if (!is_float(x.dtype())) return x;
  return unary<scalar::Floor>(x, {}, kFlat);
}

Tensor ceil(const Tensor& x) {
  if (!is_float(x.dtype())) return x;
  return unary<scalar::Ceil>(x, {}, kFlat);
}

Tensor round(const Tensor& x) {
  if (!is_float(x.dtype())) return x;
  return unary<scalar::Round>(x, {}, kFlat);
}

Tensor trunc(const Tensor& x) {
  if (!is_float(x.dtype())) return x;
  return unary<scalar::Trunc>(x, {}, kFlat);
}

Tensor frac(const Tensor& x) {
  if (!is_float(x.dtype())) return x - x;
  const Tensor y = empty_along(x.shape(), x.dtype(), {&x});
  kernels(x).unary(IndexOf<scalar::Frac, scalar::UnaryOps>::value, {}, x.view(), y.view());
  return record(
      "frac", y, {x}, [](const Tensor& g) -> Grads { return {g}; }, false);
}

Tensor expm1(const Tensor& x) {
  return unary<scalar::Expm1>(x, {}, [](const Tensor& t, Scalars) { return exp(t); });
}

Tensor exp2(const Tensor& x) {
  return unary<scalar::Exp2>(x, {}, [](const Tensor& t, Scalars) { return std::numbers::ln2 * exp2(t); });
}

Tensor log1p(const Tensor& x) {
  return unary<scalar::Log1p>(x, {}, [](const Tensor& t, Scalars) { return reciprocal(1 + t); });
}

Tensor log2(const Tensor& x) {
  return unary<scalar::Log2>(x, {}, [](const Tensor& t, Scalars) { return std::numbers::log2e / t; });
}

Tensor log10(const Tensor& x) {
  return unary<scalar::Log10>(x, {}, [](const Tensor& t, Scalars) { return std::numbers::log10e / t; });
}

Tensor tan(const Tensor& x) {
  return unary<scalar::Tan>(x, {}, [](const Tensor& t, Scalars) { return 1 + square(tan(t)); });
}

Tensor asin(const Tensor& x) {
  return unary<scalar::Asin>(x, {}, [](const Tensor& t, Scalars) { return rsqrt((1 - t) * (1 + t)); });
}

Tensor acos(const Tensor& x) {
  return unary<scalar::Acos>(x, {}, [](const Tensor& t, Scalars) { return -rsqrt((1 - t) * (1 + t)); });
}

Tensor atan(const Tensor& x) {
  return unary<scalar::Atan>(x, {}, [](const Tensor& t, Scalars) { return reciprocal(1 + square(t)); });
}

Tensor sinh(const Tensor& x) {
  return unary<scalar::Sinh>(x, {}, [](const Tensor& t, Scalars) { return cosh(t); });
}

Tensor cosh(const Tensor& x) {
  return unary<scalar::Cosh>(x, {}, [](const Tensor& t, Scalars) { return sinh(t); });
}

Tensor asinh(const Tensor& x) {
  return unary<scalar::Asinh>(x, {}, [](const Tensor& t, Scalars) { return rsqrt(1 + square(t)); });
}

Tensor acosh(const Tensor& x) {
  return unary<scalar::Acosh>(x, {}, [](const Tensor& t, Scalars) { return rsqrt(t - 1) * rsqrt(t + 1); });
}

Tensor atanh(const Tensor& x) {
  return unary<scalar::Atanh>(x, {}, [](const Tensor& t, Scalars) { return reciprocal((1 - t) * (1 + t)); });
}

Tensor erf(const Tensor& x) {
  return unary<scalar::Erf>(
      x, {}, [](const Tensor& t, Scalars) { return 2 * std::numbers::inv_sqrtpi * exp(-square(t)); });
}

Tensor erfc(const Tensor& x) {
  return unary<scalar::Erfc>(
      x, {}, [](const Tensor& t, Scalars) { return -2 * std::numbers::inv_sqrtpi * exp(-square(t)); });
}

Tensor sine(const Tensor& x, double omega) {
  return unary<scalar::Sine>(x, {omega, 0}, [](const Tensor& t, Scalars s) { return s.a * cos(s.a * t); });
}

Tensor gauss(const Tensor& x, double scale) {
  return unary<scalar::Gauss>(
      x, {scale, 0}, [](const Tensor& t, Scalars s) { return (-2 * s.a * s.a) * (t * gauss(t, s.a)); });
}

Tensor finer(const Tensor& x, double omega) {
  return unary<scalar::Finer>(x, {omega, 0}, [](const Tensor& t, Scalars s) {
    const Tensor a = abs(t);
    return s.a * (2 * a + 1) * cos(s.a * ((a + 1) * t));
  });
}

Tensor wire(const Tensor& x, double omega, double scale) {
  return unary<scalar::Wire>(x, {omega, scale}, [](const Tensor& t, Scalars s) {
    const Tensor wave = s.a * sin(s.a * t) + (2 * s.b * s.b) * (t * cos(s.a * t));
    return -(wave * gauss(t, s.b));
  });
}

}  // namespace veldt
