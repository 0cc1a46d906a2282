// Layers whose weights are integers of 8 bits: what a call of one has besides its tensors.
// Tests: tests/cpu/quantized_test.cpp
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>

#include "veldt/core/convolution.h"

namespace veldt {

// A convolution of integers, of 0 to 3 spatial dimensions; without any it is the product with a matrix.
// Numbers of the input are (q - zero point) scale for q of 0 .. 255, weights q scale for q of -128 .. 127.
// Sums are exact, so they do not depend on the instruction set.
struct QuantizedConv {
  // What a backend has made of the weights, and their `state` then.
  struct Kept {
    std::mutex mutex;
    std::shared_ptr<void> made;
    std::uint64_t state = 0;
  };
  // The most terms of a sum: that of 255 * 128 fits into 32 bits, and stays there when the zero point's part
  // is taken away.
  static constexpr std::int64_t kMostTerms = 65536;

  ConvLayout layout = {};
  // Bounds of the result, before it becomes integers.
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  std::shared_ptr<Kept> kept = std::make_shared<Kept>();
  std::uint64_t state = 0;  // of the weights and what is added: another number when they have changed
};

}  // namespace veldt
