// Division of positions by a number that a launch knows.
// Tests: tests/cuda/layers_test.cpp, tests/cuda/batch_norm_test.cpp
#pragma once

#include <cstdint>

#include "veldt/cuda/gpu.h"

namespace veldt::cuda {

// i / divisor by its reciprocal, (2^64 - 1) / divisor: the product with that is the quotient, or 1 less.
struct Quotient {
  std::int64_t divisor = 1;
  std::uint64_t reciprocal = ~std::uint64_t{0};

  explicit Quotient(std::int64_t by)
      : divisor(by), reciprocal(~std::uint64_t{0} / static_cast<std::uint64_t>(by)) {}
  __device__ std::int64_t of(std::int64_t i) const {
    const auto near = static_cast<std::int64_t>(__umul64hi(static_cast<std::uint64_t>(i), reciprocal));
    return i - near * divisor >= divisor ? near + 1 : near;
  }
};

}  // namespace veldt::cuda
