// Mixed precision: products in half precision, from parameters that stay f32.
//
//   const Autocast now(DType::bf16);
//   const Tensor loss = cross_entropy(model(x), target);
//   loss.backward();
// Tests: tests/ops/autocast_test.cpp, tests/nn/autocast_test.cpp
#pragma once

#include <optional>

#include "veldt/core/dtype.h"

namespace veldt {

// While one exists, matrix products, linear layers, convolutions, attention and the steps of an LSTM on this
// thread round f32 inputs to `dtype`, and return that; sums within them are f32. Sums, means, maxima, norms,
// softmax, pooling, interpolation, rotary embeddings and losses of half floats give f32 instead of rounding
// to halves again. f64 stays unchanged. Gradients pass through the roundings, so those of f32 parameters are
// f32. backward() computes like the forward pass, within the scope or after it, and a Plan records the effect
// of the scope on a step. f16 overflows beyond 65504 and needs optim/grad_scaler.h; bf16 does not. Without a
// dtype, an outer scope is switched off. Throws ConfigError for a dtype other than bf16 and f16.
class Autocast {
 public:
  explicit Autocast(std::optional<DType> dtype);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  std::optional<DType> before_;
};

// The dtype that products of this thread are rounded to, if any.
std::optional<DType> autocast_dtype();

}  // namespace veldt
