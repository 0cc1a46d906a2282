// Fully connected layers, fused.
// Tests: tests/nn/mlp_test.cpp
#pragma once

#include <span>
#include <vector>

#include "veldt/nn/linear.h"
#include "veldt/ops/mlp.h"

namespace veldt::nn {

struct MLPOptions {
  MlpActivation activation = MlpActivation::relu;  // of all layers except the last
  double first_omega = 1, omega = 1;               // of the first layer, of the others: sine, finer, gauss
  bool bias = true;
  Precision precision = Precision::f32;
  DType dtype = DType::f32;
  Device device = {};
};

// sizes {2, 64, 64, 1}: 2 inputs, two hidden layers of 64, 1 output; the last layer has no activation.
// Equivalent to a sequence of Linear layers and activations, with their names "layers.0.weight",
// "layers.0.bias" .. and initial values, but computed by ops/mlp.h.
class MLP : public Module {
 public:
  // Throws ConfigError for fewer than two sizes or one below 1.
  explicit MLP(std::span<const std::int64_t> sizes, MLPOptions options = {}, Rng& rng = default_rng());
  MLP(std::initializer_list<std::int64_t> sizes, MLPOptions options = {}, Rng& rng = default_rng())
      : MLP(std::span(sizes.begin(), sizes.size()), options, rng) {}

  Tensor forward(const Tensor& x) const override;  // [.., in] -> [.., out]
  // The loss of forward(x) against a target, with its gradient computed in the same pass. The precision is
  // the module's.
  MlpLossResult loss(const Tensor& x, const Tensor& target, MlpLossOptions options = {}) const;

  void fields(Fields& f) override { f("layers", layers_); }
  std::string title() const override;
  double flops(const Shape& input, const Shape& output) const override;

  const std::vector<Linear>& layers() const { return layers_; }
  Precision precision() const { return options_.precision; }
  void set_precision(Precision precision) { options_.precision = precision; }

 private:
  DenseLayers dense() const;

  MLPOptions options_;
  std::vector<Linear> layers_;
};

}  // namespace veldt::nn
