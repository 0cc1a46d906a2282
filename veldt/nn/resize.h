// Layers that change the size of signals and pictures: Upsample, PixelShuffle and Pad. None has parameters.
// Tests: tests/nn/resize_test.cpp
#pragma once

#include <utility>
#include <vector>

#include "veldt/nn/module.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/interpolate.h"

namespace veldt::nn {

// interpolate() of ops/interpolate.h: x [n, channels, spatial ..] -> [n, channels, ..].
//   nn::Upsample({.scale_factor = {2}, .mode = Interpolation::linear})
class Upsample : public Module {
 public:
  explicit Upsample(InterpolateOptions options) : options_(std::move(options)) {}
  Tensor forward(const Tensor& x) const override { return interpolate(x, options_); }
  std::string title() const override;

 private:
  InterpolateOptions options_;
};

// pixel_shuffle() and pixel_unshuffle() of ops/arrange.h: [.., c r^2, h, w] -> [.., c, h r, w r], and back.
class PixelShuffle : public Module {
 public:
  explicit PixelShuffle(std::int64_t r) : r_(r) {}
  Tensor forward(const Tensor& x) const override { return pixel_shuffle(x, r_); }
  std::string title() const override;

 private:
  std::int64_t r_;
};

class PixelUnshuffle : public Module {
 public:
  explicit PixelUnshuffle(std::int64_t r) : r_(r) {}
  Tensor forward(const Tensor& x) const override { return pixel_unshuffle(x, r_); }
  std::string title() const override;

 private:
  std::int64_t r_;
};

// pad() of ops/arrange.h: elements before and after the last dimension, then the one before it, and so on.
// One layer for torch.nn's ZeroPad2d, ConstantPad2d, ReflectionPad2d, ReplicationPad2d and CircularPad2d, and
// those of other dimensions: Pad({1, 1, 1, 1}, PadMode::reflect).
class Pad : public Module {
 public:
  explicit Pad(std::vector<std::int64_t> amounts, double value = 0)
      : amounts_(std::move(amounts)), mode_(PadMode::zeros), value_(value) {}
  Pad(std::vector<std::int64_t> amounts, PadMode mode) : amounts_(std::move(amounts)), mode_(mode) {}
  Tensor forward(const Tensor& x) const override {
    return mode_ == PadMode::zeros ? pad(x, amounts_, value_) : pad(x, amounts_, mode_);
  }
  std::string title() const override;

 private:
  std::vector<std::int64_t> amounts_;
  PadMode mode_;
  double value_ = 0;
};

}  // namespace veldt::nn
