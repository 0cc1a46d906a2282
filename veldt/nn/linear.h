// The fully connected layer.
// Tests: tests/nn/linear_test.cpp, tests/nn/golden_test.cpp, tests/nn/lora_test.cpp
#pragma once

#include "veldt/nn/init.h"
#include "veldt/nn/module.h"

namespace veldt::nn {

struct LinearOptions {
  bool bias = true;
  DType dtype = DType::f32;
  Device device = {};
};

// y = x W^T + b:  x [.., in] -> [.., out]; "weight" [out, in], "bias" [out]. Both start like
// torch.nn.Linear's, U(-1 / sqrt(in), 1 / sqrt(in)), the weight drawn first.
class Linear : public Module {
 public:
  // Throws ConfigError for a size below 1; a call, ShapeError for an input of another size or dtype.
  Linear(std::int64_t in, std::int64_t out, LinearOptions options = {}, Rng& rng = default_rng());
  Linear(std::int64_t in, std::int64_t out, Rng& rng) : Linear(in, out, {}, rng) {}

  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override {
    f("weight", weight_)("bias", bias_)("lora_A", lora_a_)("lora_B", lora_b_);
  }
  std::string title() const override;
  double flops(const Shape& input, const Shape& output) const override;

  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  // undefined without one

  // An adapter of low rank (Hu et al. 2021), which add_lora() of nn/lora.h gives to the layers of a network:
  // from then on y = x W^T + b + scale x A^T B^T, with "lora_A" [rank, in], drawn as a weight is, and
  // "lora_B" [out, rank], 0. Throws ConfigError if there is one already, and for a rank below 1.
  void add_lora(std::int64_t rank, double scale, Rng& rng = default_rng());
  bool has_lora() const { return lora_a_.defined(); }
  void train_lora();  // has the adapter, if there is one, require gradients again
  // The weight of a layer that computes the same without an adapter, W + scale B A; W itself without one.
  Tensor merged_weight() const;
  // Takes merged_weight() for W, and drops the adapter; nothing without one.
  void merge_lora();

 private:
  Tensor weight_, bias_, lora_a_, lora_b_;
  double lora_scale_ = 0;
};

}  // namespace veldt::nn
