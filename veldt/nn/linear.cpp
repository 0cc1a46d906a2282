// The fully connected layer: one product and a bias.
#include "veldt/nn/linear.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/tensor/graph.h"

namespace veldt::nn {

Linear::Linear(std::int64_t in, std::int64_t out, LinearOptions options, Rng& rng) {
  if (in < 1 || out < 1)
    throw ConfigError(str("cannot build Linear(", in, ", ", out, ")"),
                      "a layer has one input and one output or more", "give positive sizes");
  weight_ = parameter(empty({out, in}, options.dtype, options.device));
  init::kaiming_uniform(weight_, std::sqrt(5.0), rng);
  if (!options.bias) return;
  bias_ = parameter(empty({out}, options.dtype, options.device));
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  init::uniform(bias_, -bound, bound, rng);
}

Tensor Linear::forward(const Tensor& x) const {
  const Tensor y = linear(x, weight_, bias_);
  return has_lora() ? y + linear(linear(x, lora_a_), lora_b_) * lora_scale_ : y;
}

std::string Linear::title() const {
  return str("Linear(", weight_.size(1), ", ", weight_.size(0), bias_.defined() ? "" : ", no bias",
             has_lora() ? str(", LoRA of rank ", lora_a_.size(0)) : "", ')');
}

void Linear::add_lora(std::int64_t rank, double scale, Rng& rng) {
  if (has_lora())
    throw ConfigError(str(title(), " cannot get another adapter"), "it has one",
                      "merge the one it has first: merge_lora()");
  if (rank < 1)
    throw ConfigError(str("an adapter cannot have a rank of ", rank), "it is 1 or more", "give 8, say");
  lora_a_ = parameter(empty({rank, weight_.size(1)}, weight_));
  init::kaiming_uniform(lora_a_, std::sqrt(5.0), rng);
  lora_b_ = parameter(zeros({weight_.size(0), rank}, weight_.dtype(), weight_.device()));
  lora_scale_ = scale;
}

void Linear::train_lora() {
  for (Tensor* part : {&lora_a_, &lora_b_})
    if (part->defined()) part->set_requires_grad();
}

Tensor Linear::merged_weight() const {
  return has_lora() ? weight_ + matmul(lora_b_, lora_a_) * lora_scale_ : weight_;
}

void Linear::merge_lora() {
  if (!has_lora()) return;
  const NoGrad off;
  // New memory: copies of the layer keep the old weight, with their adapters.
  const bool trained = weight_.requires_grad();
  weight_ = parameter(merged_weight());
  weight_.set_requires_grad(trained);
  lora_a_ = lora_b_ = Tensor();
}

double Linear::flops(const Shape&, const Shape& output) const {
  return 2 * static_cast<double>(weight_.size(1)) * static_cast<double>(numel(output));
}

}  // namespace veldt::nn
