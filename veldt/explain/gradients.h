// Explanations by gradients: which numbers of an input change an output most. x is a network's input batch
// [n, ..] of floats, and what comes back has its shape; Targets say which output. The network is in
// evaluation meanwhile, and none of its parameters' gradients are touched: one thread at a time may explain a
// network, or use it otherwise. All throw ShapeError for an input
// that has no gradient and for outputs that are not [n, outputs], and ConfigError for a target that is none.
//   const Tensor heat = explain::integrated_gradients(net, x, {7}, {.steps = 100});
// docs/explain.md says when each misleads.
// Tests: tests/explain/gradients_test.cpp, tests/explain/peers_test.cpp
#pragma once

#include "veldt/explain/target.h"

namespace veldt::explain {

struct SaliencyOptions {
  bool absolute = true;  // how much, and not in which direction
};
// The gradient of the target's output (Simonyan et al. 2014, "Deep inside convolutional networks").
Tensor saliency(const nn::Module& model, const Tensor& x, const Targets& targets = {},
                const SaliencyOptions& options = {});

// x times the gradient (Shrikumar et al. 2016, "Not just a black box"): of a network without biases that is
// linear piece by piece, these add up to the output.
Tensor input_x_gradient(const nn::Module& model, const Tensor& x, const Targets& targets = {});

struct IntegratedOptions {
  std::int64_t steps = 50;   // of a Gauss-Legendre quadrature
  Tensor baseline = {};      // where the path begins, of a shape that broadcasts to x's; undefined: 0
  std::int64_t at_once = 8;  // inputs of a batch that passes the network
};
// The mean gradient on the straight line from the baseline to x, times their difference (Sundararajan et al.
// 2017, "Axiomatic attribution for deep networks"): adds up to output(x) - output(baseline), but for
// completeness_gap(). Throws ConfigError for less than one step.
Tensor integrated_gradients(const nn::Module& model, const Tensor& x, const Targets& targets = {},
                            const IntegratedOptions& options = {});
// What the attributions of each example add up to, less output(x) - output(baseline): [n].
Tensor completeness_gap(const nn::Module& model, const Tensor& x, const Tensor& attributions,
                        const Targets& targets, const Tensor& baseline = {});

struct SmoothOptions {
  std::int64_t samples = 25;
  // The noise's deviation, as a share of the largest less the smallest number of each example of x.
  double deviation = 0.15;
  std::uint64_t seed = 1;
  Tensor noise = {};  // [samples, .. x's shape]: this one, in the place of all of the above
};
// The mean gradient of copies of x with Gaussian noise (Smilkov et al. 2017, "SmoothGrad"), with its sign.
// Where no target is given, that of x without noise is explained. Throws ConfigError for no sample or a
// deviation below 0.
Tensor smooth_grad(const nn::Module& model, const Tensor& x, const Targets& targets = {},
                   const SmoothOptions& options = {});

// A network from one of its layers on, which is how one over tokens is explained: forward(y) calls `model`
// with `x`, and y [k n, ..] takes the place of what `layer` gives (x is repeated k times for it).
//   const explain::FromLayer from(net, *embedding, ids);
//   const Tensor heat = explain::integrated_gradients(from, from.layer_output());   // [n, time, size]
class FromLayer : public nn::Module {
 public:
  // Throws ConfigError unless model(x) calls the layer exactly once, with one result.
  FromLayer(const nn::Module& model, nn::Module& layer, const Tensor& x);

  const Tensor& layer_output() const { return layer_output_; }
  Tensor forward(const Tensor& y) const override;
  void fields(nn::Fields& f) override;
  std::string title() const override { return "FromLayer"; }

 private:
  const nn::Module* model_;
  nn::Module* layer_;
  Tensor x_, layer_output_;
};

}  // namespace veldt::explain
