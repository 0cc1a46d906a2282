// ai.onnx.preview.training: gradients, and steps of optimizers.
#include <cmath>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/tensor/graph.h"

namespace veldt::onnx {

namespace {

// The inputs after rate and step: `kinds` lists of equal length, one after the other. fn(i, k) below reads
// tensor i of list k.
std::size_t tensors_of(const Call& c, std::size_t kinds) {
  if (c.size() < 2 + kinds || (c.size() - 2) % kinds != 0) c.fail(str("it has ", c.size(), " inputs"));
  return (c.size() - 2) / kinds;
}

// fn(list) -> new values of tensor, state, ..; ordered by kind, as the results are.
template <class Fn> Values stepped(const Call& c, std::size_t kinds, const Fn& fn) {
  const std::size_t count = tensors_of(c, kinds);
  std::vector<Values> by_kind(kinds - 1);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Tensor> parts;
    for (std::size_t k = 0; k < kinds; ++k) parts.push_back(c.tensor(2 + k * count + i));
    const std::vector<Tensor> now = fn(parts);
    for (std::size_t k = 0; k < now.size(); ++k) by_kind[k].emplace_back(to(now[k], parts[0].dtype()));
  }
  Values out;
  for (const Values& values : by_kind) out.insert(out.end(), values.begin(), values.end());
  return out;
}

// Duchi et al. 2011: tensors, gradients, sums of squares.
Values adagrad(const Call& c) {
  const double rate = c.number(0) / (1 + static_cast<double>(c.integer(1)) * c.real("decay_factor", 0));
  const double decay = c.real("norm_coefficient", 0), eps = c.real("epsilon", 1e-6);
  return stepped(c, 3, [&](const std::vector<Tensor>& p) -> std::vector<Tensor> {
    const Tensor g = add(mul(p[0], decay), p[1]);
    const Tensor squares = add(p[2], square(g));
    return {sub(p[0], div(mul(g, rate), add(sqrt(squares), eps))), squares};
  });
}

// Kingma & Ba 2015: tensors, gradients, means, means of squares.
Values adam(const Call& c) {
  const double alpha = c.real("alpha", 0.9), beta = c.real("beta", 0.999), eps = c.real("epsilon", 1e-6);
  const double decay = c.real("norm_coefficient", 0), after = c.real("norm_coefficient_post", 0);
  const auto step = static_cast<double>(c.integer(1));
  double rate = c.number(0);
  if (step > 0) rate *= std::sqrt(1 - std::pow(beta, step)) / (1 - std::pow(alpha, step));
  return stepped(c, 4, [&](const std::vector<Tensor>& p) -> std::vector<Tensor> {
    const Tensor g = add(mul(p[0], decay), p[1]);
    const Tensor mean = add(mul(p[2], alpha), mul(g, 1 - alpha));
    const Tensor squares = add(mul(p[3], beta), mul(square(g), 1 - beta));
    const Tensor x = sub(p[0], div(mul(mean, rate), add(sqrt(squares), eps)));
    return {mul(x, 1 - after), mean, squares};
  });
}

// Polyak 1964; Nesterov 1983: tensors, gradients, momenta.
Values momentum(const Call& c) {
  const double rate = c.number(0), alpha = c.real("alpha", 0.9), decay = c.real("norm_coefficient", 0);
  const double beta = c.integer(1) > 0 ? c.real("beta", 1) : 1;
  const std::string mode = c.text("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    c.fail("its mode is \"" + mode + "\", which ONNX does not have");
  return stepped(c, 3, [&](const std::vector<Tensor>& p) -> std::vector<Tensor> {
    const Tensor g = add(mul(p[0], decay), p[1]);
    const Tensor v = add(mul(p[2], alpha), mul(g, beta));
    return {sub(p[0], mul(mode == "standard" ? v : add(g, mul(v, alpha)), rate)), v};
  });
}

// The gradients of the last input, which the network added, with respect to those that `xs` names.
Values gradient(const Call& c) {
  const std::size_t count = c.texts("xs").size();
  if (c.size() < count + 1) c.fail("its inputs are not those that its attributes name");
  TensorList xs;
  for (std::size_t i = 0; i < count; ++i) xs.push_back(c.tensor(i));
  const Tensor& y = c.tensor(c.size() - 1);
  Values out;
  for (const Tensor& g : grad(y, xs, true, ones_like(y))) out.emplace_back(g);
  return out;
}

}  // namespace

void add_training(OperatorTable& t) {
  constexpr std::string_view kDomain = "ai.onnx.preview.training";
  t.add("Gradient", gradient, 0, kDomain);
  t.add("Adagrad", adagrad, 0, kDomain);
  t.add("Adam", adam, 0, kDomain);
  t.add("Momentum", momentum, 0, kDomain);
}

}  // namespace veldt::onnx
