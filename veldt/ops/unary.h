// Elementwise functions of one tensor. Each returns a tensor of x's shape; f32 and f64.
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt {

Tensor neg(const Tensor& x);
// scale x + shift
Tensor affine(const Tensor& x, double scale, double shift);
Tensor abs(const Tensor& x);   // slope 0 at 0
Tensor sign(const Tensor& x);  // -1, 0 or 1; its gradient is 0 everywhere
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);   // natural; NaN below 0, -inf at 0
Tensor sqrt(const Tensor& x);  // NaN below 0
Tensor square(const Tensor& x);
Tensor pow(const Tensor& x, double p);
// min(max(x, low), high); slope 1 within the bounds, 0 beyond. Throws ConfigError if low > high.
Tensor clamp(const Tensor& x, double low, double high);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);   // 1 / (1 + exp(-x))
Tensor softplus(const Tensor& x);  // log(1 + exp(x))
Tensor relu(const Tensor& x);      // max(x, 0), slope 0 at 0

// The activations of neural fields.
Tensor sine(const Tensor& x, double omega);   // sin(omega x): SIREN, Sitzmann et al. 2020
Tensor gauss(const Tensor& x, double scale);  // exp(-(scale x)^2): Ramasinghe & Lucey 2022
Tensor finer(const Tensor& x, double omega);  // sin(omega (|x| + 1) x): FINER, Liu et al. 2024

inline Tensor operator-(const Tensor& x) { return neg(x); }

}  // namespace veldt
