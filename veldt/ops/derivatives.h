// Derivatives of whole functions: products with the Jacobian and the Hessian, and a check of an op's gradient
// against finite differences.
// Tests: tests/ops/derivatives_test.cpp
#pragma once

#include <functional>
#include <string>

#include "veldt/tensor/graph.h"

namespace veldt {

// A function of several tensors. It must use its arguments, not other tensors with the same values.
using TensorFunction = std::function<Tensor(const TensorList& inputs)>;

// v^T J: for each input, the gradient of sum(v * f(inputs)). v has the output's shape. Throws as grad() does.
Grads vjp(const TensorFunction& f, const TensorList& inputs, const Tensor& v);
// J u: how f(inputs) changes along the directions u, one for each input and of its shape. Has f's shape.
// Computed by differentiating v^T J along v (Townsend 2017), so every op in f must be twice differentiable.
Tensor jvp(const TensorFunction& f, const TensorList& inputs, const TensorList& u);
// H u: how the gradient of f, which must give one element, changes along the directions u.
Grads hvp(const TensorFunction& f, const TensorList& inputs, const TensorList& u);

struct GradcheckReport {
  bool passed = true;
  double worst = 0;  // the largest |analytic - numeric| / (1 + |numeric|)
  std::string
      difference;  // where the two differ most: "input 1 at element 3: 2.5 by backward, 2 by differences"
  explicit operator bool() const { return passed; }
};

// Compares the gradient of sum(w * f(inputs)), w fixed weights, with central differences at each element of
// each input that requires a gradient. All of them f64: f32 has too few digits for it. Throws ConfigError for
// another dtype, or when no input requires a gradient.
GradcheckReport gradcheck(const TensorFunction& f, const TensorList& inputs, double tolerance = 1e-6,
                          double step = 1e-5);
// The same for the second derivatives: gradcheck of the gradient itself.
GradcheckReport gradgradcheck(const TensorFunction& f, const TensorList& inputs, double tolerance = 1e-5,
                              double step = 1e-5);

}  // namespace veldt
