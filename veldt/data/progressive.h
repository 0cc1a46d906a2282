// Progressive resizing: pictures are small when training begins, and grow while it goes on. Early steps,
// which learn what is coarse, cost a part of a whole one (Howard 2018, DAWNBench; Tan & Le 2021; Composer).
// Tests: tests/data/progressive_test.cpp, tests/recipe/resizing_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/tensor/tensor.h"

namespace veldt::data {

struct ProgressiveResizing {
  double initial_scale = 0.5;       // of the sides, at the first step
  double finetune_fraction = 0.2;   // the last share of the steps, whose pictures are whole
  std::int64_t size_increment = 4;  // sides of pictures that are not whole are multiples of it, rounded down

  // The side of pictures after that share of the steps, 0 to 1, of those that are `whole` pixels long: never
  // more than that, and at least 1. Between the first step and the last share it grows along a line.
  std::int64_t side(std::int64_t whole, double share) const;
  // Pictures [n, channels, height, width] of floats, made smaller by linear weights, below half of a side by
  // means; whole ones are returned as they are. Throws ShapeError for another rank.
  Tensor operator()(const Tensor& pictures, double share) const;
  std::string text() const;
  // side() and operator() call it. Throws ConfigError unless 0 < initial_scale <= 1, 0 <= finetune_fraction
  // <= 1 and size_increment >= 1.
  void check() const;
};

}  // namespace veldt::data
