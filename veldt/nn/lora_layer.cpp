// What an adapter of low rank adds, and how it becomes a part of the weight.
#include "veldt/nn/lora_layer.h"

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::nn {

void LoraLayer::add_lora(std::int64_t rank, double alpha, Rng& rng) {
  if (has_lora())
    throw ConfigError(str(title(), " cannot get another adapter"), "it has one",
                      "merge the one it has first: merge_lora()");
  if (rank < 1)
    throw ConfigError(str("an adapter cannot have a rank of ", rank), "it is 1 or more", "give 8, say");
  lora_a_ = parameter(empty({rank, in_features()}, weight_.dtype(), weight_.device()));
  init::kaiming_uniform(lora_a_, std::sqrt(5.0), rng);
  lora_b_ = parameter(zeros({out_features(), rank}, weight_.dtype(), weight_.device()));
  lora_alpha_ = full({}, alpha, weight_.dtype(), weight_.device());
}

void LoraLayer::train_lora() {
  for (Tensor* part : {&lora_a_, &lora_b_})
    if (part->defined()) part->set_requires_grad();
}

Tensor LoraLayer::lora_scale() const { return lora_alpha_ / static_cast<double>(lora_a_.size(0)); }

Tensor LoraLayer::with_lora(const Tensor& y, const Tensor& x) const {
  return has_lora() ? y + linear(linear(x, lora_a_) * lora_scale(), lora_b_) : y;
}

Tensor LoraLayer::merged_weight() const {
  if (!has_lora()) return weight();
  const Tensor product = matmul(lora_b_, lora_a_) * lora_scale();
  return weight() + (weight_.in_first() ? transpose(product) : product);
}

void LoraLayer::merge_lora() {
  if (!has_lora()) return;
  const NoGrad off;
  // New memory: copies of the layer keep the old weight, with their adapters.
  const bool trained = weight_.floats().defined() && weight_.floats().requires_grad();
  Tensor merged = parameter(merged_weight());
  merged.set_requires_grad(trained);
  weight_ = merged;
  lora_a_ = lora_b_ = lora_alpha_ = Tensor();
}

std::string LoraLayer::lora_title() const {
  return has_lora() ? str(", LoRA of rank ", lora_a_.size(0)) : "";
}

}  // namespace veldt::nn
