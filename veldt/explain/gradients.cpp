// Gradients, their sums along paths and over noise, and networks that begin at one of their layers.
#include "veldt/explain/gradients.h"

#include <cmath>
#include <numbers>

#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::explain {
namespace {

struct Quadrature {
  std::vector<double> places, weights;  // in 0..1; the weights add up to 1
};

// The roots of the Legendre polynomial by Newton's method, from the usual guess (Press et al. 2007, 4.6).
Quadrature gauss_legendre(std::int64_t n) {
  Quadrature found;
  const auto order = static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) {
    double z = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (order + 0.5)), slope = 1;
    for (int step = 0; step < 100; ++step) {
      double now = 1, before = 0;
      for (std::int64_t j = 1; j <= n; ++j) {
        const auto k = static_cast<double>(j);
        const double next = ((2 * k - 1) * z * now - (k - 1) * before) / k;
        before = now, now = next;
      }
      slope = order * (z * now - before) / (z * z - 1);
      const double move = now / slope;
      z -= move;
      if (std::abs(move) < 1e-15) break;
    }
    found.places.push_back((1 - z) / 2);
    found.weights.push_back(1 / ((1 - z * z) * slope * slope));
  }
  return found;
}

// The targets of `copies` of the batch, one after the other.
Targets repeated(const Targets& targets, std::int64_t copies) {
  if (targets.size() <= 1) return targets;
  Targets all;
  for (std::int64_t i = 0; i < copies; ++i) all.insert(all.end(), targets.begin(), targets.end());
  return all;
}

Targets chosen(const nn::Module& model, const Tensor& x, const Targets& targets) {
  return targets.empty() ? largest_outputs(model, x) : targets;
}

// The sum of weights[i] times the gradient at at(i), a few batches at a time.
template <class At>
Tensor weighted_gradients(const nn::Module& model, const Targets& targets, const std::vector<double>& weights,
                          std::int64_t batch, std::int64_t at_once, const At& at) {
  Tensor total;
  const std::int64_t count = std::ssize(weights), some = std::max<std::int64_t>(1, at_once / batch);
  for (std::int64_t begin = 0; begin < count; begin += some) {
    const std::int64_t copies = std::min(some, count - begin);
    std::vector<Tensor> inputs;
    for (std::int64_t i = 0; i < copies; ++i) inputs.push_back(at(begin + i));
    const Tensor gradient = score_and_gradient(model, cat(inputs, 0), repeated(targets, copies)).second;
    for (std::int64_t i = 0; i < copies; ++i) {
      const Tensor part =
          narrow(gradient, 0, i * batch, batch) * weights[static_cast<std::size_t>(begin + i)];
      total = total.defined() ? total + part : part;
    }
  }
  return total;
}

Tensor baseline_for(const Tensor& x, const Tensor& baseline) {
  return baseline.defined() ? expand(baseline.detach(), x.shape()) : zeros_like(x.detach());
}

Tensor score_of(const nn::Module& model, const Tensor& x, const Targets& targets) {
  const nn::Evaluating evaluating(model);
  const NoGrad off;
  return scores_of(model(x), targets);
}

}  // namespace

Tensor saliency(const nn::Module& model, const Tensor& x, const Targets& targets,
                const SaliencyOptions& options) {
  const Tensor gradient = score_and_gradient(model, x, targets).second;
  return options.absolute ? abs(gradient) : gradient;
}

Tensor input_x_gradient(const nn::Module& model, const Tensor& x, const Targets& targets) {
  return x.detach() * score_and_gradient(model, x, targets).second;
}

Tensor integrated_gradients(const nn::Module& model, const Tensor& x, const Targets& targets,
                            const IntegratedOptions& o) {
  if (o.steps < 1 || o.at_once < 1)
    throw ConfigError(str("integrated gradients cannot have ", o.steps, " steps, ", o.at_once, " at once"),
                      "a mean is of one gradient or more", "give positive numbers");
  explained_input(x);  // refuses what has no gradient before the sizes are used
  const NoGrad off;
  const Tensor from = baseline_for(x, o.baseline), way = x.detach() - from;
  const Quadrature quadrature = gauss_legendre(o.steps);
  const auto at = [&](std::int64_t i) { return from + way * quadrature.places[static_cast<std::size_t>(i)]; };
  return way *
         weighted_gradients(model, chosen(model, x, targets), quadrature.weights, x.size(0), o.at_once, at);
}

Tensor completeness_gap(const nn::Module& model, const Tensor& x, const Tensor& attributions,
                        const Targets& given, const Tensor& baseline) {
  const NoGrad off;
  const Targets targets = chosen(model, x, given);
  const Tensor wanted =
      score_of(model, x.detach(), targets) - score_of(model, baseline_for(x, baseline), targets);
  return sum(reshape(attributions, {x.size(0), -1}), {1}) - wanted;
}

Tensor smooth_grad(const nn::Module& model, const Tensor& x, const Targets& targets, const SmoothOptions& o) {
  const std::int64_t samples = o.noise.defined() ? o.noise.size(0) : o.samples;
  if (samples < 1 || !(o.deviation >= 0))
    throw ConfigError(str("SmoothGrad cannot have ", samples, " samples of deviation ", o.deviation),
                      "a mean is of one gradient or more, and a deviation is not below 0",
                      "give one sample or more, and a share of the input's range");
  explained_input(x);
  const NoGrad off;
  // Each example's own, [n, 1, ..], as each picture has in the paper.
  const Tensor rows = reshape(x.detach(), {x.size(0), -1});
  Shape one_each = x.shape();
  for (int i = 1; i < x.rank(); ++i) one_each[i] = 1;
  const Tensor deviation = reshape((max(rows, {1}) - min(rows, {1})) * o.deviation, one_each);
  Rng rng(o.seed);
  const auto at = [&](std::int64_t i) {
    return x.detach() + (o.noise.defined()
                             ? o.noise[i]
                             : to(randn(x.shape(), rng, 0, 1, x.dtype()), x.device()) * deviation);
  };
  const std::vector<double> weights(static_cast<std::size_t>(samples), 1.0 / static_cast<double>(samples));
  return weighted_gradients(model, chosen(model, x, targets), weights, x.size(0), 8, at);
}

FromLayer::FromLayer(const nn::Module& model, nn::Module& layer, const Tensor& x)
    : model_(&model), layer_(&layer), x_(x.detach()) {
  int calls = 0;
  const ScopedHooks hook(layer.register_forward_hook([&](auto&, auto&, TensorList& outputs) {
    ++calls;
    if (outputs.size() == 1 && outputs[0].defined()) layer_output_ = outputs[0].detach();
  }));
  const nn::Evaluating evaluating(model);
  const NoGrad off;
  model(x_);
  if (calls != 1 || !layer_output_.defined())
    throw ConfigError(str("cannot explain from ", layer.title(), " on"),
                      str("the network called it ", calls, " times for this input"),
                      "give a layer that it calls once, with one result");
}

Tensor FromLayer::forward(const Tensor& y) const {
  const std::int64_t n = layer_output_.size(0);
  if (y.rank() != layer_output_.rank() || y.size(0) % n != 0)
    throw ShapeError(str("FromLayer cannot take ", y.shape()),
                     str("its layer gives ", layer_output_.shape(), ", or a multiple of its examples"),
                     "change layer_output(), and keep its shape");
  std::vector<std::int64_t> counts(static_cast<std::size_t>(x_.rank()), 1);
  counts[0] = y.size(0) / n;
  const ScopedHooks hook(
      layer_->register_forward_hook([&](auto&, auto&, TensorList& outputs) { outputs[0] = y; }));
  return (*model_)(repeat(x_, counts));
}

void FromLayer::fields(nn::Fields& f) { f("", const_cast<nn::Module&>(*model_)); }

}  // namespace veldt::explain
