// The fully connected layer.
// Tests: tests/nn/linear_test.cpp, tests/nn/golden_test.cpp, tests/nn/lora_test.cpp
#pragma once

#include "veldt/nn/lora_layer.h"

namespace veldt::nn {

struct LinearOptions {
  bool bias = true;
  DType dtype = DType::f32;
  Device device = {};
};

// y = x W^T + b:  x [.., in] -> [.., out]; "weight" [out, in], "bias" [out]. Both start like
// torch.nn.Linear's, U(-1 / sqrt(in), 1 / sqrt(in)), the weight drawn first.
class Linear : public LoraLayer {
 public:
  // Throws ConfigError for a size below 1; a call, ShapeError for an input of another size or dtype.
  Linear(std::int64_t in, std::int64_t out, LinearOptions options = {}, Rng& rng = default_rng());
  Linear(std::int64_t in, std::int64_t out, Rng& rng) : Linear(in, out, {}, rng) {}

  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override {
    weight_.fields(f, "weight");
    f("bias", bias_);
    lora_fields(f);
  }
  std::vector<Named> weights() override { return {{"weight", &weight_, Use::product, true}}; }
  Tensor* bias_of_product() override { return &bias_; }
  std::string title() const override;
  double flops(const Shape& input, const Shape& output) const override;

  const Tensor& bias() const { return bias_; }  // undefined without one

 private:
  Tensor bias_;
};

}  // namespace veldt::nn
