// Listens to a network's attention, and multiplies what it hears.
#include "veldt/explain/rollout.h"

#include "veldt/core/error.h"
#include "veldt/nn/evaluating.h"
#include "veldt/ops/attention.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::explain {
namespace {

class Listener : public AttentionListener {
 public:
  void on_attention(const Tensor& q, const Tensor& k, const AttentionOptions& options) override {
    Tensor weights = attention_weights(q.detach(), k.detach(), options);
    if (weights.rank() == 3) weights = unsqueeze(weights, 1);
    maps.push_back(weights);
  }
  std::vector<Tensor> maps;
};

}  // namespace

std::vector<Tensor> attention_maps(const nn::Module& model, const Tensor& x) {
  const nn::Evaluating evaluating(model);
  const NoGrad off;
  Listener listener;
  model(x);
  return listener.maps;
}

Tensor attention_rollout(const nn::Module& model, const Tensor& x) {
  const NoGrad off;
  Tensor product;
  for (const Tensor& weights : attention_maps(model, x)) {
    const bool fits = weights.rank() == 4 && weights.size(2) == weights.size(3) &&
                      (!product.defined() || product.shape() == mean(weights, {1}).shape());
    if (!fits)
      throw ConfigError(str("there is no roll-out of attention ", weights.shape()),
                        "a roll-out is of layers that all attend to the same tokens",
                        "look at attention_maps(), or explain this network by integrated gradients");
    const Tensor layer =
        (mean(weights, {1}) + eye(weights.size(2), -1, weights.dtype(), weights.device())) * 0.5;
    product = product.defined() ? matmul(layer, product) : layer;
  }
  if (!product.defined())
    throw ConfigError("there is no attention to roll out", str(model.title(), " has no attention"),
                      "explain this network by integrated gradients, or by Grad-CAM if it has convolutions");
  return product;
}

}  // namespace veldt::explain
