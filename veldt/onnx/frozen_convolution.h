// A convolution of a program that only runs, with what follows it in the same pass.
// Tests: tests/onnx/optimize_test.cpp
#pragma once

#include <atomic>
#include <memory>

#include "veldt/core/convolution.h"
#include "veldt/onnx/operators.h"

namespace veldt::onnx {

// Whether convolutions of x go to its backend with what follows them: it has that entry, and no tracer, which
// knows convolutions alone, sees the call.
bool freezes_convolutions(const Tensor& x);

// Whether no number of x is infinite or NaN.
bool all_finite(const Tensor& x);
// The same of an input, for what a backend would do in one call with bounds that may hide a NaN; true for
// what goes another way, and while a step is recorded, which has no numbers yet.
bool is_seen_finite(const Tensor& x);

// What follows from the sizes of x.
struct FrozenSizes {
  Shape x, y;
  ConvLayout layout;
};

// y = conv(x, w) + bias + added, within bounds, for a Conv whose weight and bias are constants. Its inputs
// are those of the Conv, and after them `added` if there is one. Two spatial dimensions of f32 are one call
// of a backend that has it, and lie in memory with their channels last, which every op that follows can read;
// elementwise ones keep it. All else is computed as by the operators that it stands for.
class FrozenConvolution {
 public:
  static constexpr std::size_t kAdded = 3;  // that input's place

  bool bounded() const { return bounded_; }
  bool adds() const { return adds_; }
  void set_adds() { adds_ = true; }
  void set_bounds(double low, double high);

  // `conv` computes the Conv alone. With `keeps_nan` it is computed by the operators that it stands for.
  Values run(const Call& call, Operator conv, bool keeps_nan) const;

 private:
  // Undefined if no backend does it in one call.
  Tensor fused(const Call& call, const Tensor& added) const;

  FrozenConv kept_;  // without a layout
  mutable std::atomic<std::shared_ptr<const FrozenSizes>> last_;
  bool bounded_ = false, adds_ = false;
};

}  // namespace veldt::onnx
