// The network of a neural field: coordinates, their encoding, and layers; the output is one number per
// channel.
// Tests: tests/field/network_test.cpp
#pragma once

#include <vector>

#include "veldt/core/rng.h"
#include "veldt/field/encoding.h"
#include "veldt/field/options.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/module.h"
#include "veldt/ops/mlp.h"

namespace veldt::field {

class Network : public nn::Module {
 public:
  // Initialised for its activation, from `rng`.
  Network(const FieldOptions& options, Rng& rng);

  // [n, inputs] -> [n, channels]
  Tensor forward(const Tensor& coordinates) const override;
  // The loss of forward(), see ops/mlp.h, in this network's precision.
  MlpLossResult loss(const Tensor& coordinates, const Tensor& target, MlpLossOptions options) const;
  void fields(nn::Fields& f) override;

  // The precision of computations from now on; f32 by default. The weights are always f32.
  void set_precision(Precision precision) { precision_ = precision; }

 private:
  DenseLayers dense() const;

  FieldOptions options_;
  Encodings encoding_;
  std::vector<nn::Linear> layers_;
  Precision precision_ = Precision::f32;
};

}  // namespace veldt::field
