// Activation functions, elementwise; relu, tanh, sigmoid, softplus and those of neural fields are in
// ops/unary.h. The defaults are PyTorch's, and so are the slopes at the bounds of piecewise ones: 0 at both
// ends of hardtanh, relu6 and hardsigmoid, 0 and 1 at those of hardswish; sources of the formulas are in
// kernels/activation-inl.h.
// Tests: tests/support/op_rows_activation.cpp, tests/ops/formula_test.cpp, tests/ops/edges_test.cpp
#pragma once

#include "veldt/ops/formula.h"

namespace veldt {

inline Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01) {
  return unary<"leaky_relu">(x, negative_slope);
}
inline Tensor elu(const Tensor& x, double alpha = 1) { return unary<"elu">(x, alpha); }
inline Tensor selu(const Tensor& x) { return unary<"selu">(x); }
// Throws ConfigError for alpha = 0.
Tensor celu(const Tensor& x, double alpha = 1);
inline Tensor gelu(const Tensor& x) { return unary<"gelu">(x); }  // x P(x) with the normal distribution's P
inline Tensor gelu_tanh(const Tensor& x) { return unary<"gelu_tanh">(x); }  // its approximation by tanh
inline Tensor silu(const Tensor& x) { return unary<"silu">(x); }            // x sigmoid(x)
inline Tensor mish(const Tensor& x) { return unary<"mish">(x); }            // x tanh(softplus(x))
inline Tensor softsign(const Tensor& x) { return unary<"softsign">(x); }    // x / (1 + |x|)
inline Tensor hardsigmoid(const Tensor& x) { return unary<"hardsigmoid">(x); }
inline Tensor hardswish(const Tensor& x) { return unary<"hardswish">(x); }  // x hardsigmoid(x)
// min(max(x, low), high). Throws ConfigError if low > high.
Tensor hardtanh(const Tensor& x, double low = -1, double high = 1);
Tensor relu6(const Tensor& x);  // min(max(x, 0), 6)
// x where |x| > threshold, else 0
inline Tensor hardshrink(const Tensor& x, double threshold = 0.5) {
  return unary<"hardshrink">(x, threshold);
}
inline Tensor logsigmoid(const Tensor& x) {
  return unary<"logsigmoid">(x);
}  // log(sigmoid(x)) without cancellation

}  // namespace veldt
