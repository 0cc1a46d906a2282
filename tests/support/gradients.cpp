// Works out central differences of any order, and holds backward() against them.
#include "tests/support/gradients.h"

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"

namespace veldt::test {
namespace {

constexpr double kStep = 2e-4;
constexpr double kTolerance = 2e-6;  // of the largest entry of a gradient

using Inputs = std::vector<GradientInput>;

bool is_variable(const GradientInput& in) { return in.dtype == DType::f64; }

std::vector<Tensor> leaves(const Inputs& inputs, Layout layout) {
  std::vector<Tensor> out;
  for (const GradientInput& in : inputs) {
    out.push_back(lay_out(in.values, in.dtype, layout));
    if (is_variable(in)) out.back().set_requires_grad();
  }
  return out;
}

std::vector<Tensor> variables(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors)
    if (t.requires_grad()) out.push_back(t);
  return out;
}

// sum of w f(inputs), in plain doubles
double weighted(const Function& fn, const Inputs& inputs, const Values& w) {
  const Values y = read(fn(leaves(inputs, Layout::contiguous)));
  double total = 0;
  for (std::size_t i = 0; i < y.v.size(); ++i) total += w.v[i] * y.v[i];
  return total;
}

// d weighted / d element i of input k, to fourth order in the step
double difference(const Function& fn, Inputs inputs, const Values& w, std::size_t k, std::size_t i) {
  double& x = inputs[k].values.v[i];
  const double at = x;
  const auto value = [&](double steps) {
    x = at + steps * kStep;
    return weighted(fn, inputs, w);
  };
  return (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * kStep);
}

double largest(const Values& values) {
  double most = 0;
  for (double v : values.v) most = std::max(most, std::fabs(v));
  return most;
}

GradientReport wrong(int order, std::size_t input, const char* what, const Values& got,
                     const Values& expected) {
  for (std::size_t i = 0; i < got.v.size(); ++i) {
    const double off = std::fabs(got.v[i] - expected.v[i]);
    if (!(off <= kTolerance * std::max(1e-3, largest(expected))))
      return {false, str("gradient of order ", order, ", input ", input, ", element ",
                         index_of(got.shape, static_cast<std::int64_t>(i)), " of ", got.shape, ": ", got.v[i],
                         ", ", what, ' ', expected.v[i])};
  }
  return {};
}

// One order: fn's gradient for every f64 input.
GradientReport check_once(const Function& fn, const Inputs& inputs, int order, Layout layout) {
  const std::vector<Tensor> x = leaves(inputs, layout);
  const Tensor y = fn(x);
  if (!y.requires_grad())
    return {false, str("gradient of order ", order, ": the result is not in the graph")};
  Rng rng(17, static_cast<std::uint64_t>(order));
  const Values w = uniform(y.shape(), rng, 0.5, 1.5);
  const Tensor seed = write(w, y.dtype());
  const Grads plain = grad(y, variables(x), false, seed);
  const Grads graph = grad(y, variables(x), true, seed);
  std::size_t v = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!is_variable(inputs[k])) continue;
    const Values got = read(plain[v]);
    if (plain[v].shape() != inputs[k].values.shape)
      return {false, str("the gradient of input ", k, " is ", plain[v].shape(), ", the input ",
                         inputs[k].values.shape)};
    GradientReport report = wrong(order, k, "but with create_graph it is", got, read(graph[v]));
    if (!report.ok) return report;
    Values expected = got;
    for (std::size_t i = 0; i < got.v.size(); ++i) expected.v[i] = difference(fn, inputs, w, k, i);
    report = wrong(order, k, "but central differences give", got, expected);
    if (!report.ok) return report;
    ++v;
  }
  return {};
}

// (inputs, w) -> sum over i of v_i d(w f)/d(input i), with random constants v_i: a scalar.
Function derivative_of(const Function& fn, int order) {
  return [fn, order](const std::vector<Tensor>& all) {
    const std::vector<Tensor> inputs(all.begin(), all.end() - 1);
    const Grads grads = grad(fn(inputs), variables(inputs), true, all.back());
    Rng rng(23, static_cast<std::uint64_t>(order));
    Tensor total;
    for (const Tensor& g : grads) {
      const Tensor part = sum(g * write(uniform(g.shape(), rng, 0.5, 1.5), g.dtype()));
      total = total.defined() ? total + part : part;
    }
    return total;
  };
}

}  // namespace

GradientReport check_gradients(const Function& fn, const Inputs& inputs, int order, Layout layout) {
  Function f = fn;
  Inputs in = inputs;
  for (int k = 1; k <= order; ++k) {
    try {
      const GradientReport report = check_once(f, in, k, layout);
      if (!report.ok || k == order) return report;
      Rng rng(31, static_cast<std::uint64_t>(k));
      const Shape out = f(leaves(in, Layout::contiguous)).shape();
      in.push_back({uniform(out, rng, 0.5, 1.5)});
      f = derivative_of(f, k);
    } catch (const Error& error) {
      return {false, str("gradient of order ", k, ": ", error.what())};
    }
  }
  return {};
}

}  // namespace veldt::test
