// Splits the work of a convolution into pieces that are convolutions themselves, one per thread at a time.
// Tests: tests/cpu/convolution_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/convolution.h"

namespace veldt::cpu {

// Elements from one example, or channel, to the next in the tensors that contain a piece.
struct ConvSteps {
  std::int64_t x_example, x_channel, y_example, y_channel, w_channel;  // w's: those of its first dimension
  friend bool operator==(const ConvSteps&, const ConvSteps&) = default;
};

struct ConvPiece {
  ConvSizes sizes;
  ConvSteps steps;
  std::int64_t x = 0, w = 0, y = 0, bias = 0;  // elements before it
};

class ConvCut {
 public:
  ConvCut(const ConvSizes& whole, ConvPart part);

  std::int64_t count() const { return (size_ + grain_ - 1) / grain_; }
  ConvPiece piece(std::int64_t i) const;
  // Each piece computes a partial sum of all of w, not a part of the result.
  bool sums() const;

 private:
  enum class Along : std::uint8_t { nothing, examples, groups, channels, rows };
  void choose(Along along, std::int64_t size, std::int64_t grain);
  void choose_for(std::int64_t threads);
  bool choose_rows(std::int64_t threads);
  void set_rows(ConvPiece& p, std::int64_t begin, std::int64_t end) const;

  ConvSizes whole_;
  ConvPart part_;
  Along along_ = Along::nothing;
  std::int64_t size_ = 1, grain_ = 1;  // along the split dimension
  int row_ = 0;                        // the spatial dimension that counts rows: the first that is not 1
};

}  // namespace veldt::cpu
