// Mixed precision: products in half floats, from parameters that stay f32.
//
//   const Autocast now(DType::bf16);
//   const Tensor loss = cross_entropy(model(x), target);
//   loss.backward();
// Tests: tests/ops/autocast_test.cpp, tests/nn/autocast_test.cpp
#pragma once

#include <optional>

#include "veldt/core/dtype.h"

namespace veldt {

// While one lives, matrix products, linear layers, convolutions, attention and the steps of an LSTM on this
// thread round what they are given in f32 to `dtype`, and give that; sums within them are f32. Sums, means,
// maxima, norms, softmax, pooling, interpolation, rotary embeddings and losses of half floats give f32
// instead of rounding to halves again. f64 stays what it is. Gradients come back through the roundings, so
// those of f32 parameters are f32. backward() computes as the forward pass did, within the scope or after
// it, and a Plan records what the scope makes of a step. f16 overflows beyond 65504 and needs
// optim/grad_scaler.h; bf16 does not. Without a dtype, what an outer scope began is off. Throws ConfigError
// for another dtype than bf16 and f16.
class Autocast {
 public:
  explicit Autocast(std::optional<DType> dtype);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  std::optional<DType> before_;
};

// What products of this thread are rounded to, if anything.
std::optional<DType> autocast_dtype();

}  // namespace veldt
