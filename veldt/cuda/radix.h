// Sorting whole numbers on the device by their digits, the lowest first. Equal ones keep their order.
// Tests: tests/cuda/gather_test.cpp
#pragma once

#include <cstdint>

#include "veldt/cuda/scratch.h"

namespace veldt::cuda {

class Sorted {
 public:
  // Room for `count` keys, at least one, of 0 to `largest`.
  Sorted(std::int64_t count, std::uint64_t largest);

  // On the device. Write the keys there before sort(), read them in order after it.
  std::uint64_t* keys() const;
  // After sort(): which of the keys as they were written each one is.
  const std::int64_t* positions() const;
  void sort();

 private:
  std::int64_t count_;
  int passes_;         // digits of a key
  std::int64_t part_;  // keys of a warp
  std::int64_t parts_;
  Scratch memory_;
  int now_ = 0;  // the half that the keys are in
};

}  // namespace veldt::cuda
