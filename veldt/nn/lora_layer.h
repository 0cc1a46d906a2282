// A layer whose weight may get an adapter of low rank (Hu et al. 2021).
// Tests: tests/nn/lora_test.cpp, tests/models/language_test.cpp
#pragma once

#include "veldt/nn/init.h"
#include "veldt/nn/module.h"
#include "veldt/nn/weight.h"

namespace veldt::nn {

// The base of Linear, MultiheadAttention, and other layers that multiply by a matrix. Without an adapter it
// does nothing; with one, the layer's output gets alpha / rank x A^T B^T more: "lora_A" [rank, in], "lora_B"
// [out, rank], and "lora_alpha", one number, which is kept beside them so that a file of an adapter is
// complete.
class LoraLayer : public Module, public Quantizable {
 public:
  // Gives the layer an adapter, A drawn as a Linear's weight is and B 0. Throws ConfigError if there is one
  // already, and for a rank below 1.
  void add_lora(std::int64_t rank, double alpha, Rng& rng = default_rng());
  bool has_lora() const { return lora_a_.defined(); }
  void train_lora();  // has the adapter, if there is one, require gradients again
  // The weight of a layer that computes the same without an adapter; the weight itself without one.
  Tensor merged_weight() const;
  // Takes merged_weight() for the weight, and drops the adapter; nothing without one.
  void merge_lora();

  // Of integers, the floats that they stand for, [out, in] always.
  Tensor weight() const { return weight_.numbers(); }
  std::int64_t in_features() const { return weight_.size(weight_.in_first() ? 0 : 1); }
  std::int64_t out_features() const { return weight_.size(weight_.in_first() ? 1 : 0); }

 protected:
  // `in_first`: the weight is [in, out], not [out, in].
  explicit LoraLayer(bool in_first = false) : weight_(in_first) {}
  void lora_fields(Fields& f) { f("lora_A", lora_a_)("lora_B", lora_b_)("lora_alpha", lora_alpha_); }
  // y, the layer's own output for x, with what the adapter adds.
  Tensor with_lora(const Tensor& y, const Tensor& x) const;
  std::string lora_title() const;  // ", LoRA of rank 8"

  // x W^T + bias, of floats or integers.
  Tensor product(const Tensor& x, const Tensor& bias) const { return weight_.linear(x, bias); }

  Weight weight_;

 private:
  Tensor lora_scale() const;

  Tensor lora_a_, lora_b_, lora_alpha_;
};

}  // namespace veldt::nn
