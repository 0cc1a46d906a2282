// Jacobians and Hessians times directions by one or two backward passes, and gradients compared with
// differences.
#include "veldt/ops/derivatives.h"

#include <cmath>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt {
namespace {

// Leaves with the inputs' values, so that the caller's graph is not walked.
TensorList leaves_of(const TensorList& inputs) {
  TensorList leaves;
  for (const Tensor& in : inputs) leaves.push_back(in.detach().set_requires_grad());
  return leaves;
}

void check_directions(const char* op, const TensorList& inputs, const TensorList& u) {
  bool fits = inputs.size() == u.size();
  for (std::size_t i = 0; fits && i < u.size(); ++i)
    fits = u[i].shape() == inputs[i].shape() && u[i].dtype() == inputs[i].dtype();
  if (!fits)
    throw ShapeError(str(op, " was given directions that do not fit its ", inputs.size(), " inputs"),
                     "each input needs one of its own shape and dtype",
                     "make them with zeros_like() or randn()");
}

// Fixed, different for each element, and none near zero, so that errors cannot cancel.
Tensor weights_for(const Tensor& output) {
  std::vector<double> w(static_cast<std::size_t>(output.numel()));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = 1 + 0.5 * std::sin(1.7 * static_cast<double>(i));
  return Tensor::from<double>(output.shape(), w, output.device());
}

Tensor weighted_sum(const Tensor& output) { return sum(output * weights_for(output)); }

void check_inputs(const TensorList& inputs) {
  bool any = false;
  for (const Tensor& in : inputs) {
    any = any || in.requires_grad();
    if (in.requires_grad() && in.dtype() != DType::f64)
      throw ConfigError(str("gradcheck cannot judge an input of ", in.dtype()),
                        "differences need the precision of f64", "convert the inputs: to(x, DType::f64)");
  }
  if (!any)
    throw ConfigError("gradcheck has nothing to check", "no input requires a gradient",
                      "set_requires_grad() on those to check");
}

}  // namespace

Grads vjp(const TensorFunction& f, const TensorList& inputs, const Tensor& v) {
  const TensorList leaves = leaves_of(inputs);
  return grad(f(leaves), leaves, false, v);
}

Tensor jvp(const TensorFunction& f, const TensorList& inputs, const TensorList& u) {
  check_directions("jvp", inputs, u);
  const TensorList leaves = leaves_of(inputs);
  const Tensor output = f(leaves);
  // g(v) = v^T J is linear in v: its derivative along v, times u, is J u.
  const Tensor v = zeros_like(output).set_requires_grad();
  const Grads g = grad(output, leaves, true, v);
  Tensor along;
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (!g[i].requires_grad()) continue;  // the output does not depend on this input
    const Tensor part = sum(g[i] * u[i]);
    along = along.defined() ? along + part : part;
  }
  return along.defined() ? grad(along, {v})[0] : zeros_like(output);
}

Grads hvp(const TensorFunction& f, const TensorList& inputs, const TensorList& u) {
  check_directions("hvp", inputs, u);
  const TensorList leaves = leaves_of(inputs);
  const Grads g = grad(f(leaves), leaves, true);
  Tensor along;
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (!g[i].requires_grad()) continue;  // linear in this input
    const Tensor part = sum(g[i] * u[i]);
    along = along.defined() ? along + part : part;
  }
  if (along.defined()) return grad(along, leaves);
  Grads none;
  for (const Tensor& in : inputs) none.push_back(zeros_like(in));
  return none;
}

GradcheckReport gradcheck(const TensorFunction& f, const TensorList& inputs, double tolerance, double step) {
  check_inputs(inputs);
  TensorList own;  // copies, whose values can be moved
  std::vector<Tensor> wanted;
  for (const Tensor& in : inputs) {
    own.push_back(in.detach());
    if (!in.requires_grad()) continue;
    own.back() = empty(in.shape(), in);
    own.back().assign(in);
    wanted.push_back(own.back().set_requires_grad());
  }
  const Grads analytic = grad(weighted_sum(f(own)), wanted);
  GradcheckReport report;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const std::vector<double> given = analytic[k].values<double>();
    double* const at = wanted[k].data<double>();
    for (std::size_t i = 0; i < given.size(); ++i) {
      const double x = at[i];
      double sides[2];
      for (const int side : {0, 1}) {
        NoGrad off;
        at[i] = side == 0 ? x - step : x + step;
        sides[side] = weighted_sum(f(own)).item();
      }
      at[i] = x;
      const double numeric = (sides[1] - sides[0]) / (2 * step);
      const double off = std::abs(given[i] - numeric) / (1 + std::abs(numeric));
      if (off <= report.worst) continue;  // a NaN is not
      report.worst = off;
      report.passed = report.passed && off <= tolerance;
      report.difference =
          str("input ", k, " at element ", i, ": ", given[i], " by backward, ", numeric, " by differences");
      if (std::isnan(off)) return report;
    }
  }
  return report;
}

GradcheckReport gradgradcheck(const TensorFunction& f, const TensorList& inputs, double tolerance,
                              double step) {
  check_inputs(inputs);
  const TensorFunction gradient = [&f](const TensorList& at) {
    std::vector<Tensor> wanted;
    for (const Tensor& in : at)
      if (in.requires_grad()) wanted.push_back(in);
    Tensor all;
    const EnableGrad on;
    for (const Tensor& g : grad(weighted_sum(f(at)), wanted, true)) {
      const Tensor part = weighted_sum(g);
      all = all.defined() ? all + part : part;
    }
    return all;
  };
  return gradcheck(gradient, inputs, tolerance, step);
}

}  // namespace veldt
