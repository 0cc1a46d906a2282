// The network of a neural field: coordinates, their encoding, and layers; one number per channel out.
#pragma once

#include <vector>

#include "veldt/core/rng.h"
#include "veldt/field/encoding.h"
#include "veldt/field/options.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/module.h"

namespace veldt::field {

class Network : public nn::Module {
 public:
  // Initialised as its activation wants it, from `rng`.
  Network(const FieldOptions& options, Rng& rng);

  // [n, inputs] -> [n, channels]
  Tensor forward(const Tensor& coordinates) const override;
  void fields(nn::Fields& f) override;

 private:
  FieldOptions options_;
  Encodings encoding_;
  std::vector<nn::Linear> layers_;
};

}  // namespace veldt::field
