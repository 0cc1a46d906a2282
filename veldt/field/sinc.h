// Interpolates a sound between its frames by a windowed sinc, without frequencies above half their rate.
// Tests: tests/field/sinc_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::field {

class SincResampler {
 public:
  // For places `step` frames apart. If that is above 1, frequencies too high for them are removed.
  explicit SincResampler(double step);

  // A place uses this many frames before it and as many after it.
  std::int64_t reach() const { return reach_; }
  // The sound at `count` places from `first` on, where frame i lies at i: [count, channels]. `frames`, f32
  // [n, channels], start at frame `begin`; all others are 0.
  Tensor at(double first, std::int64_t count, const Tensor& frames, std::int64_t begin) const;

 private:
  std::int64_t taps() const { return 2 * reach_; }
  // The weights of the taps around a place this far after the previous frame; they may be stored in `own`.
  const float* weights(double behind, std::vector<float>& own) const;

  double step_;
  std::int64_t reach_, phases_;
  std::vector<float> weights_;  // [phases + 1][taps], for places k / phases after a frame
};

}  // namespace veldt::field
