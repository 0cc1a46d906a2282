// Elementwise functions of one tensor; each returns a tensor of its shape. Floats keep their dtype, integers
// and booleans give f32 unless noted.
// Tests: tests/support/op_rows_unary.cpp, tests/ops/formula_test.cpp, tests/ops/accuracy_test.cpp,
// tests/ops/specials_test.cpp
#pragma once

#include "veldt/ops/formula.h"
#include "veldt/ops/scalar.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

// These five keep integer dtypes (u8 wraps); booleans are refused. abs has slope 0 at 0, sign (-1, 0 or 1;
// NaN for a NaN) everywhere.
Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);
Tensor square(const Tensor& x);
Tensor relu(const Tensor& x);  // max(x, 0); slope 0 at 0, and of a NaN
// min(max(x, low), high); slope 1 between the bounds, 0 on them and beyond. A bound may be infinite. An
// integer dtype stays if both bounds are integers. Throws ConfigError if low > high.
Tensor clamp(const Tensor& x, Scalar low, Scalar high);
// Integers stay unchanged. The slope is 0, that of frac (x - trunc(x)) 1. round: half to even.
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor round(const Tensor& x);
Tensor trunc(const Tensor& x);
Tensor frac(const Tensor& x);

// scale x + shift
Tensor affine(const Tensor& x, double scale, double shift);
Tensor reciprocal(const Tensor& x);                                 // 1 / x
inline Tensor sqrt(const Tensor& x) { return unary<"sqrt">(x); }    // NaN below 0
inline Tensor rsqrt(const Tensor& x) { return unary<"rsqrt">(x); }  // 1 / sqrt(x)
inline Tensor exp(const Tensor& x) { return unary<"exp">(x); }
inline Tensor exp2(const Tensor& x) { return unary<"exp2">(x); }
inline Tensor expm1(const Tensor& x) { return unary<"expm1">(x); }  // e^x - 1 without cancellation
inline Tensor log(const Tensor& x) { return unary<"log">(x); }      // natural; NaN below 0, -inf at 0
inline Tensor log2(const Tensor& x) { return unary<"log2">(x); }
inline Tensor log10(const Tensor& x) { return unary<"log10">(x); }
inline Tensor log1p(const Tensor& x) { return unary<"log1p">(x); }  // log(1 + x) without cancellation
inline Tensor sin(const Tensor& x) { return unary<"sin">(x); }
inline Tensor cos(const Tensor& x) { return unary<"cos">(x); }
inline Tensor tan(const Tensor& x) { return unary<"tan">(x); }
inline Tensor asin(const Tensor& x) { return unary<"asin">(x); }
inline Tensor acos(const Tensor& x) { return unary<"acos">(x); }
inline Tensor atan(const Tensor& x) { return unary<"atan">(x); }
inline Tensor sinh(const Tensor& x) { return unary<"sinh">(x); }
inline Tensor cosh(const Tensor& x) { return unary<"cosh">(x); }
inline Tensor tanh(const Tensor& x) { return unary<"tanh">(x); }
inline Tensor asinh(const Tensor& x) { return unary<"asinh">(x); }
inline Tensor acosh(const Tensor& x) { return unary<"acosh">(x); }
inline Tensor atanh(const Tensor& x) { return unary<"atanh">(x); }
inline Tensor erf(const Tensor& x) { return unary<"erf">(x); }
inline Tensor erfc(const Tensor& x) { return unary<"erfc">(x); }          // 1 - erf(x) without cancellation
inline Tensor sigmoid(const Tensor& x) { return unary<"sigmoid">(x); }    // 1 / (1 + exp(-x))
inline Tensor softplus(const Tensor& x) { return unary<"softplus">(x); }  // log(1 + exp(x))

// The activations of neural fields; others are in ops/activation.h.
inline Tensor sine(const Tensor& x, double omega) {
  return unary<"sine">(x, omega);
}  // sin(omega x): SIREN, Sitzmann et al. 2020
inline Tensor gauss(const Tensor& x, double scale) {
  return unary<"gauss">(x, scale);
}  // exp(-(scale x)^2): Ramasinghe & Lucey 2022
inline Tensor finer(const Tensor& x, double omega) {
  return unary<"finer">(x, omega);
}  // sin(omega (|x| + 1) x): FINER, Liu et al. 2024
// cos(omega x) exp(-(scale x)^2): the real wavelet of WIRE, Saragadam et al. 2023
inline Tensor wire(const Tensor& x, double omega, double scale) { return unary<"wire">(x, omega, scale); }

inline Tensor operator-(const Tensor& x) { return neg(x); }

}  // namespace veldt
