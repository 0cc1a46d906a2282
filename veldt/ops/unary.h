// Elementwise functions of one tensor; each returns a tensor of its shape. Floats keep their dtype, whole
// numbers and booleans give f32 except where said.
#pragma once

#include "veldt/ops/scalar.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

// These five leave whole numbers what they are (u8 wraps); booleans are refused. abs has slope 0 at 0, sign
// (-1, 0 or 1; NaN of a NaN) everywhere.
Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);
Tensor square(const Tensor& x);
Tensor relu(const Tensor& x);  // max(x, 0); slope 0 at 0, and of a NaN
// min(max(x, low), high); slope 1 between the bounds, 0 on them and beyond. A bound may be infinite. Whole
// numbers stay what they are if both bounds are. Throws ConfigError if low > high.
Tensor clamp(const Tensor& x, Scalar low, Scalar high);
// Whole numbers stay as they are. The slope is 0, that of frac (x - trunc(x)) 1. round: half to even.
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor round(const Tensor& x);
Tensor trunc(const Tensor& x);
Tensor frac(const Tensor& x);

// scale x + shift
Tensor affine(const Tensor& x, double scale, double shift);
Tensor reciprocal(const Tensor& x);  // 1 / x
Tensor sqrt(const Tensor& x);        // NaN below 0
Tensor rsqrt(const Tensor& x);       // 1 / sqrt(x)
Tensor exp(const Tensor& x);
Tensor exp2(const Tensor& x);
Tensor expm1(const Tensor& x);  // e^x - 1 without cancellation
Tensor log(const Tensor& x);    // natural; NaN below 0, -inf at 0
Tensor log2(const Tensor& x);
Tensor log10(const Tensor& x);
Tensor log1p(const Tensor& x);  // log(1 + x) without cancellation
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor asin(const Tensor& x);
Tensor acos(const Tensor& x);
Tensor atan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor asinh(const Tensor& x);
Tensor acosh(const Tensor& x);
Tensor atanh(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor erfc(const Tensor& x);      // 1 - erf(x) without cancellation
Tensor sigmoid(const Tensor& x);   // 1 / (1 + exp(-x))
Tensor softplus(const Tensor& x);  // log(1 + exp(x))

// The activations of neural fields; others are in ops/activation.h.
Tensor sine(const Tensor& x, double omega);   // sin(omega x): SIREN, Sitzmann et al. 2020
Tensor gauss(const Tensor& x, double scale);  // exp(-(scale x)^2): Ramasinghe & Lucey 2022
Tensor finer(const Tensor& x, double omega);  // sin(omega (|x| + 1) x): FINER, Liu et al. 2024
// cos(omega x) exp(-(scale x)^2): the real wavelet of WIRE, Saragadam et al. 2023
Tensor wire(const Tensor& x, double omega, double scale);

inline Tensor operator-(const Tensor& x) { return neg(x); }

}  // namespace veldt
