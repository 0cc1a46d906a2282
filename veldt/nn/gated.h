// Activations that learn or that gate: PReLU, GLU and SwiGLU.
// Tests: tests/nn/gated_test.cpp
#pragma once

#include <string>

#include "veldt/nn/linear.h"
#include "veldt/nn/module.h"

namespace veldt::nn {

// x above 0, weight x below (He et al. 2015). "weight" [count], for one slope or for one of each channel,
// which are dimension 1 of x, or dimension 0 of a vector.
class PReLU : public Module {
 public:
  // Throws ConfigError for a count below 1; a call, ShapeError for another number of channels.
  explicit PReLU(std::int64_t count = 1, double initial = 0.25);
  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override { f("weight", weight_); }
  std::string title() const override;

 private:
  Tensor weight_;
};

// a sigmoid(b) of the two halves a and b of a dimension (Dauphin et al. 2017).
class GLU : public Module {
 public:
  explicit GLU(int dim = -1) : dim_(dim) {}
  // Throws ShapeError for a dimension of an odd size.
  Tensor forward(const Tensor& x) const override;
  std::string title() const override;

 private:
  int dim_;
};

// silu(gate(x)) value(x) (Shazeer 2020): x [.., in] -> [.., out]. "gate.weight" and "value.weight" [out, in].
class SwiGLU : public Module {
 public:
  SwiGLU(std::int64_t in, std::int64_t out, LinearOptions options = {.bias = false},
         Rng& rng = default_rng());
  SwiGLU(std::int64_t in, std::int64_t out, Rng& rng) : SwiGLU(in, out, {.bias = false}, rng) {}
  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override { f("gate", gate_)("value", value_); }
  std::string title() const override;

 private:
  std::int64_t in_, out_;
  Linear gate_, value_;
};

}  // namespace veldt::nn
