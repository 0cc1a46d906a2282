// Floats of a level while they are learned: rows with zeros around them, so that kernels may read
// beside a level and write whole vectors.
// Tests: tests/pack/learner_test.cpp
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "veldt/core/size.h"

namespace veldt::pack {

class Plane {
 public:
  static constexpr std::int64_t kBlock = 16;  // floats that a kernel takes at a time, at most
  static constexpr std::int64_t kRowsAround = 3;

  Plane() = default;
  explicit Plane(Size size)
      : width_(size.width),
        height_(size.height),
        stride_((size.width + kBlock - 1) / kBlock * kBlock + 2 * kBlock),
        values_(static_cast<std::size_t>(stride_ * (size.height + 2 * kRowsAround) + kBlock), 0.0f) {}

  std::int64_t width() const { return width_; }
  std::int64_t height() const { return height_; }
  std::int64_t stride() const { return stride_; }
  // From -kRowsAround to height() + kRowsAround - 1; from column -kBlock to the end of the last block and
  // kBlock more.
  float* row(std::int64_t y) { return values_.data() + (y + kRowsAround) * stride_ + kBlock; }
  const float* row(std::int64_t y) const { return values_.data() + (y + kRowsAround) * stride_ + kBlock; }
  void clear() { std::fill(values_.begin(), values_.end(), 0.0f); }

 private:
  std::int64_t width_ = 0, height_ = 0, stride_ = 0;
  std::vector<float> values_;
};

}  // namespace veldt::pack
