// Grad-CAM and Grad-CAM++, by a hook on one layer.
#include "veldt/explain/cam.h"

#include <optional>

#include "veldt/core/error.h"
#include "veldt/nn/convolution.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"

namespace veldt::explain {
namespace {

// What the layer gives for x, and the gradient of the targets' outputs with respect to it: [n, channels, h,
// w].
std::pair<Tensor, Tensor> planes_of(const nn::Module& model, nn::Module& layer, const Tensor& x,
                                    const Targets& targets) {
  const OnlyInputs only(model);
  Tensor given;
  int calls = 0;
  const ScopedHooks hook(layer.register_forward_hook(
      [&](auto&, auto&, TensorList& outputs) { given = outputs.at(0), ++calls; }));
  const Tensor scores = scores_of(model(explained_input(x)), targets);
  if (!given.defined())
    throw ConfigError(str("there is no map of ", layer.title()), "the network does not call it",
                      "give a layer of this network that works on the picture");
  if (calls > 1)
    throw ConfigError(str("there is no one map of ", layer.title()),
                      str("the network calls it ", calls, " times for one input"),
                      "give a layer that it calls once");
  if (given.rank() != 4)
    throw ShapeError(str("there is no map of ", layer.title()), str("it gives ", given.shape()),
                     "give a layer that makes [n, channels, height, width], such as a convolution");
  return {given.detach(), grad(sum(scores), {given})[0]};
}

Tensor summed(const Tensor& weights, const Tensor& planes, const CamOptions& options) {
  const Tensor map = sum(weights * planes, {1}, true);
  return options.relu ? relu(map) : map;
}

// Remembers the last convolution, and the modules after it that leave its shape.
class LastPlanes : public nn::CallListener {
 public:
  void on_call(const nn::Module& module, const TensorList&, const TensorList& outputs) override {
    const Tensor& y = outputs.at(0);
    const bool is_plane = y.defined() && y.rank() == 4 && y.size(2) * y.size(3) > 1;
    if (is_plane && dynamic_cast<const nn::Conv2d*>(&module)) {
      found = &module, shape = y.shape();
      goes_on = true;
    } else if (goes_on) {
      goes_on = is_plane && y.shape() == shape;
      if (goes_on) found = &module;
    }
  }
  const nn::Module* found = nullptr;

 private:
  Shape shape;
  bool goes_on = false;
};

}  // namespace

Tensor grad_cam(const nn::Module& model, nn::Module& layer, const Tensor& x, const Targets& targets,
                const CamOptions& options) {
  const auto [planes, gradients] = planes_of(model, layer, x, targets);
  return summed(mean(gradients, {2, 3}, true), planes, options);
}

Tensor grad_cam_plus_plus(const nn::Module& model, nn::Module& layer, const Tensor& x, const Targets& targets,
                          const CamOptions& options) {
  const auto [planes, g] = planes_of(model, layer, x, targets);
  const Tensor squared = square(g);
  // Equation 19, for an output that is exp() of the network's: no higher derivatives are needed. The small
  // number keeps planes without a gradient from 0 / 0.
  constexpr double kSmall = 1e-6;
  const Tensor share = squared / (squared * 2.0 + sum(planes, {2, 3}, true) * squared * g + kSmall);
  return summed(sum(relu(g) * share, {2, 3}, true), planes, options);
}

nn::NamedModule last_convolution(const nn::Module& model, const Tensor& x) {
  const nn::Evaluating evaluating(model);
  const NoGrad off;
  LastPlanes last;
  model(x);
  for (const nn::NamedModule& inner : model.named_modules())
    if (inner.module == last.found) return inner;
  throw ConfigError("there is no layer for a class activation map",
                    str(model.title(), " calls no two-dimensional convolution that gives several places"),
                    "explain this network by integrated gradients, or by occlusion");
}

}  // namespace veldt::explain
