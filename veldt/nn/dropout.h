// Dropout: of numbers, of whole channels or examples, and for SELU.
// Tests: tests/nn/dropout_test.cpp, tests/nn/recompute_test.cpp
#pragma once

#include "veldt/nn/init.h"
#include "veldt/nn/module.h"

namespace veldt::nn {

// The base of the layers below. In evaluation they do nothing. Each call in training draws from the module's
// own stream, "rng" [2] (i64: seed and position), which state_dict() saves, so a resumed run drops the same
// elements as an uninterrupted one. Copies share the stream; a clone() has its own, at the same position.
class RandomDropping : public Module {
 public:
  void fields(Fields& f) override { f("rng", stream_); }
  std::string title() const override;
  // Whether a call changes anything.
  bool drops() const { return training() && p_ > 0; }

 protected:
  // The stream's seed is drawn from `rng`. Throws ConfigError for p outside [0, 1].
  RandomDropping(const char* name, double p, Rng& rng);

  double p() const { return p_; }
  // 0 with probability p, else 1, in the dtype and on the device of `like`.
  Tensor draw(const Shape& shape, const Tensor& like) const;
  // x with dropped elements set to 0 and the rest divided by 1 - p; `shape`, which broadcasts to x's, is
  // drawn.
  Tensor drop(const Tensor& x, const Shape& shape) const;

 private:
  const char* name_;
  double p_;
  Tensor stream_;
};

// Sets each number to 0 with probability p and divides the others by 1 - p (Srivastava et al. 2014).
class Dropout : public RandomDropping {
 public:
  explicit Dropout(double p = 0.5, Rng& rng = default_rng()) : RandomDropping("Dropout", p, rng) {}

  Tensor forward(const Tensor& x) const override;  // f32 or f64, any shape
};

// The same for each channel as a whole: x [n, channels, spatial ..] or [channels, spatial ..] (Tompson et al.
// 2015). torch's Dropout2d takes three dimensions for [n, channels, length]; that is Dropout1d here.
template <int kDims> class ChannelDropout : public RandomDropping {
 public:
  // A call throws ShapeError for another number of dimensions.
  explicit ChannelDropout(double p = 0.5, Rng& rng = default_rng());

  Tensor forward(const Tensor& x) const override;
};

using Dropout1d = ChannelDropout<1>;
using Dropout2d = ChannelDropout<2>;
using Dropout3d = ChannelDropout<3>;

// Sets whole examples to 0 with probability p and divides the others by 1 - p: x [n, ..], what a residual
// block adds (Huang et al. 2016). torchvision.ops.StochasticDepth in its mode "row".
class StochasticDepth : public RandomDropping {
 public:
  explicit StochasticDepth(double p = 0.2, Rng& rng = default_rng())
      : RandomDropping("StochasticDepth", p, rng) {}

  // Throws ShapeError for a number without dimensions.
  Tensor forward(const Tensor& x) const override;
};

// Sets each number to SELU's lowest value with probability p, then scales and shifts all, so that a mean of 0
// and a variance of 1 stay (Klambauer et al. 2017).
class AlphaDropout : public RandomDropping {
 public:
  explicit AlphaDropout(double p = 0.5, Rng& rng = default_rng()) : RandomDropping("AlphaDropout", p, rng) {}

  Tensor forward(const Tensor& x) const override;  // f32 or f64, any shape
};

}  // namespace veldt::nn
