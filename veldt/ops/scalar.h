// A C++ number in an op with a tensor: an integer keeps the dtype of an integer tensor, a floating point
// number makes it f32. The dtype of a float tensor never changes.
// Tests: tests/ops/dtype_test.cpp
#pragma once

#include <concepts>
#include <cstdint>

#include "veldt/core/dtype.h"

namespace veldt {

class Scalar {
 public:
  template <std::integral T>
  Scalar(T value)  // NOLINT: reads like the number
      : whole_(static_cast<std::int64_t>(value)),
        real_(static_cast<double>(value)),
        is_whole_(value <= T(0) || static_cast<std::uint64_t>(value) <= INT64_MAX) {}      // else as a double
  template <std::floating_point T> Scalar(T value) : real_(static_cast<double>(value)) {}  // NOLINT

  bool is_whole() const { return is_whole_; }
  std::int64_t whole() const { return whole_; }
  double real() const { return real_; }

  // The dtype of an op between it and a tensor of dtype `t`.
  DType beside(DType t) const {
    if (is_float(t)) return t;
    if (!is_whole_) return DType::f32;
    return t == DType::boolean ? DType::i64 : t;
  }

 private:
  std::int64_t whole_ = 0;
  double real_ = 0;
  bool is_whole_ = false;
};

}  // namespace veldt
