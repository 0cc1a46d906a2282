// What stands between the brackets of a tensor: one position of a dimension, or a Slice of it.
// Tests: tests/ops/subscript_test.cpp
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

namespace veldt {

// Python's begin:end:step. Positions below 0 count from the end, those beyond the ends are moved to them, and
// what is left out is the end: Slice{} is all, Slice{1} all but the first, Slice{.step = 2} every second.
struct Slice {
  std::optional<std::int64_t> begin = {}, end = {};
  std::int64_t step = 1;
};

class Position {
 public:
  template <std::integral T> Position(T at) : at_(static_cast<std::int64_t>(at)) {}  // NOLINT: reads like it
  Position(const Slice& slice) : slice_(slice), is_slice_(true) {}                   // NOLINT

  bool is_slice() const { return is_slice_; }
  std::int64_t at() const { return at_; }
  const Slice& slice() const { return slice_; }

 private:
  Slice slice_;
  std::int64_t at_ = 0;
  bool is_slice_ = false;
};

}  // namespace veldt
