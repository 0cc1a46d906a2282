// Activation functions, elementwise; relu, tanh, sigmoid, softplus and those of neural fields are in
// ops/unary.h. The defaults are PyTorch's, and so are the slopes on the bounds of what is piecewise: 0 at
// both ends of hardtanh, relu6 and hardsigmoid, 0 and 1 at those of hardswish; sources of the formulas are in
// kernels/activation-inl.h.
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt {

Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
Tensor elu(const Tensor& x, double alpha = 1);
Tensor selu(const Tensor& x);
// Throws ConfigError for alpha = 0.
Tensor celu(const Tensor& x, double alpha = 1);
Tensor gelu(const Tensor& x);       // x P(x) with the normal distribution's P
Tensor gelu_tanh(const Tensor& x);  // its approximation by tanh
Tensor silu(const Tensor& x);       // x sigmoid(x)
Tensor mish(const Tensor& x);       // x tanh(softplus(x))
Tensor softsign(const Tensor& x);   // x / (1 + |x|)
Tensor hardsigmoid(const Tensor& x);
Tensor hardswish(const Tensor& x);  // x hardsigmoid(x)
// min(max(x, low), high). Throws ConfigError if low > high.
Tensor hardtanh(const Tensor& x, double low = -1, double high = 1);
Tensor relu6(const Tensor& x);       // min(max(x, 0), 6)
Tensor logsigmoid(const Tensor& x);  // log(sigmoid(x)) without cancellation

}  // namespace veldt
