// What integers of 8 bits, and sums of them, stand for.
// Tests: tests/cpu/quantized_test.cpp
#pragma once

#include <cstdint>

namespace veldt::cpu {

// What integers stand for: (q - zero) scale.
struct Affine8 {
  float scale, zero;
};

// A row of sums as numbers: scale w_scale[j] (c[j] - zero w_sum[j]) + bias[j], within bounds, where
// scale and zero are the row's. Reads the arrays of weights up to a multiple of 16 numbers.
struct Int8Finish {
  const std::int32_t* w_sum;
  const float *w_scale, *bias;
  float low, high;
};

}  // namespace veldt::cpu
