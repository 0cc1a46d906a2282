// What can be counted in a picture, row by row.
// Tests: tests/field/kind_test.cpp, tests/field/shared_signal_test.cpp
#pragma once

#include <cstdint>
#include <memory>

#include "veldt/tensor/tensor.h"

namespace veldt::field {

// Statistics of a picture; its levels are given in 8 bits. A step is the largest difference between two
// neighbours in a row or a column, over the channels.
struct PictureFacts {
  static constexpr int kMostColours = 256;  // the largest number of colours that is counted
  int colours = 0;
  double flat = 0;  // the share of the steps that are 0
  double soft = 0;  // of up to 8
  double hard = 0;  // the share above 48 among those above 8
  // Among the pixels between two that differ by more than 48, those whose colour is a blend of theirs, as
  // where an edge runs through a pixel.
  double blended = 0;
  double clear = 0;         // the share of fully transparent pixels
  double partial = 0;       // the share of semi-transparent pixels among the visible ones
  double between = 1;       // the share of pixels that are neither near black nor near white
  bool is_grey = false;     // red, green and blue are equal in all colours
  bool two_level = false;   // one channel, every level 0 or 1
  std::int64_t period = 1;  // side of the largest squares of equal pixels that it consists of
};
class FactsCounter {
 public:
  FactsCounter(std::int64_t rows, std::int64_t columns, std::int64_t channels);
  ~FactsCounter();
  FactsCounter(const FactsCounter&) = delete;
  FactsCounter& operator=(const FactsCounter&) = delete;
  // The next rows, f32 [n, columns, channels].
  void add(const Tensor& levels);
  // After the last row.
  PictureFacts facts();

 private:
  class Counter;
  std::unique_ptr<Counter> counter_;
};
}  // namespace veldt::field
