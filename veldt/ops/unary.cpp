// Functions of one number that need more than their formula: a formula for integers, or checks of arguments.
#include "veldt/ops/unary.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/parts.h"
#include "veldt/tensor/graph.h"

namespace veldt {
namespace {

void refuse_booleans(const char* op, const Tensor& x) {
  if (x.dtype() == DType::boolean)
    throw ShapeError(str(op, " cannot be taken of booleans"), "they are not numbers",
                     "convert them, for example to i64, or use logical_not");
}

// Only the kernel: for integers, which have no gradient, or where the gradient is explicit.
Tensor without_gradient(int formula, const Tensor& x, Scalars scalars = {}) {
  const Tensor y = empty_along(x.shape(), x.dtype(), {&x});
  kernels(x).unary(formula, scalars, x.view(), y.view());
  return y;
}

// Whether a double may not hold it; 2^53 may be rounded already.
bool is_inexact(Scalar value) { return std::abs(value.real()) >= 0x1p53; }

}  // namespace

Tensor huber_of(const Tensor& x, double delta, double rate) { return unary<"huber">(x, delta, rate); }

Tensor neg(const Tensor& x) {
  refuse_booleans("neg", x);
  return is_float(x.dtype()) ? affine(x, -1, -0.0) : 0 - x;  // -0.0 keeps the sign of zero
}

Tensor abs(const Tensor& x) {
  refuse_booleans("abs", x);
  if (x.dtype() == DType::u8) return x;
  static const int formula = unary_formula("abs");
  return is_float(x.dtype()) ? unary(formula, x) : without_gradient(formula, x);
}

Tensor sign(const Tensor& x) {
  refuse_booleans("sign", x);
  return is_float(x.dtype()) ? unary<"sign">(x) : clamp(x, x.dtype() == DType::u8 ? 0 : -1, 1);
}

Tensor square(const Tensor& x) {
  refuse_booleans("square", x);
  return is_float(x.dtype()) ? unary<"square">(x) : x * x;
}

Tensor power(const Tensor& x, double p) { return p == 2 ? square(x) : unary<"pow">(x, p); }

Tensor clamp(const Tensor& x, Scalar low, Scalar high) {
  if (!(low.real() <= high.real()))
    throw ConfigError(str("clamp cannot keep values between ", low.real(), " and ", high.real()),
                      "the lower bound is the higher", "swap the bounds");
  const DType dtype = x.dtype();
  static const int formula = unary_formula("clamp");
  if (is_float(dtype) || !low.is_whole() || !high.is_whole())
    return unary(formula, x, low.real(), high.real());
  if (dtype == DType::boolean || is_inexact(low) || is_inexact(high)) return minimum(maximum(x, low), high);
  check_holds(dtype, low);
  check_holds(dtype, high);
  return without_gradient(formula, x, {low.real(), high.real()});
}

Tensor relu(const Tensor& x) {
  refuse_booleans("relu", x);
  if (x.dtype() == DType::u8) return x;
  return is_float(x.dtype()) ? unary<"relu">(x) : maximum(x, 0);
}

Tensor affine(const Tensor& given, double scale, double shift) {
  const Tensor x = as_float(given);
  static const int formula = unary_formula("affine");  // its slope needs neither x nor the result
  return record(
      "affine", without_gradient(formula, x, {scale, shift}), {x},
      [scale](const Tensor& g) -> Grads { return {affine(g, scale, -0.0)}; }, false);
}

Tensor quotient(const Tensor& x, double divisor) {
  // Explicit, because the gradient is also divided, not multiplied by a rounded slope.
  static const int formula = unary_formula("div");
  return record(
      "div", without_gradient(formula, x, {divisor, 0}), {x},
      [divisor](const Tensor& g) -> Grads { return {quotient(g, divisor)}; }, false);
}

Tensor inverse(const Tensor& x, double numerator) { return unary<"reciprocal">(x, numerator); }

Tensor reciprocal(const Tensor& x) { return inverse(as_float(x), 1); }

Tensor floor(const Tensor& x) { return is_float(x.dtype()) ? unary<"floor">(x) : x; }

Tensor ceil(const Tensor& x) { return is_float(x.dtype()) ? unary<"ceil">(x) : x; }

Tensor round(const Tensor& x) { return is_float(x.dtype()) ? unary<"round">(x) : x; }

Tensor trunc(const Tensor& x) { return is_float(x.dtype()) ? unary<"trunc">(x) : x; }

Tensor frac(const Tensor& x) {
  if (!is_float(x.dtype())) return x - x;
  static const int formula = unary_formula("frac");  // its slope of 1 needs no x
  return record(
      "frac", without_gradient(formula, x), {x}, [](const Tensor& g) -> Grads { return {g}; }, false);
}

}  // namespace veldt
