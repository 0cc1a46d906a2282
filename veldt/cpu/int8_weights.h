// Weights of integers in the order in which products read them, and the products with all of them.
// Tests: tests/cpu/quantized_test.cpp, tests/cpu/int8_lstm_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "veldt/core/quantized.h"
#include "veldt/core/view.h"
#include "veldt/cpu/int8_product.h"

namespace veldt::cpu {

inline std::int64_t rounded_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

// Neighbouring outputs of a line as one, of so many times the channels: its window reaches over all of
// theirs, and weights are 0 where one reads nothing. Channels last, both lie in memory as one by one.
ConvSizes joined(ConvSizes s, std::int64_t count);
// How many, so that few channels fill the columns of a block.
std::int64_t best_joined(const ConvSizes& s, const Int8Kernels& kernels);

inline constexpr std::int64_t kGateColumns = 16;  // of each of an LSTM's gates

struct Int8Form {
  const Int8Kernels* kernels;
  std::int64_t joined = 1;  // outputs
  // Columns are those of an LSTM's gates: of 16 elements of the state i, f, g and o, then of the next ones.
  bool by_gates = false;

  friend bool operator==(const Int8Form&, const Int8Form&) = default;
};

// Rows of bytes, 32 of them to be read, or of terms that widen() has made of them.
struct Int8Terms {
  const std::uint8_t* bytes;
  std::int64_t row, count;  // bytes from one row to the next; rows
  const std::int16_t* wide = nullptr;
};

struct PackedInt8 {
  Int8Form form{};
  bool depthwise = false;
  std::int64_t terms = 0;    // of a sum, for the kernels
  std::int64_t depth = 0;    // the same, filled up to kInt8Depth
  std::int64_t columns = 0;  // of a group, filled up
  // [groups][columns / 32] of the kernels' panels; depthwise: [taps][channels].
  std::vector<std::int8_t> panels;
  std::vector<std::int16_t> wide_panels;  // instead of these
  std::vector<std::int32_t> sums;         // [groups][columns]
  std::vector<float> scales, biases;      // of these columns

  // Makes terms.wide, in memory of this thread until its next call, if the kernels take that.
  void widen(Int8Terms& terms) const;
  // c [32][32]: the rows' products with the panel that begins at column `at` of all, of which `count` are
  // used.
  void multiply(const Int8Terms& terms, std::int64_t at, std::int64_t count, std::int32_t* c) const;
  Int8Finish finish(std::int64_t at, float low, float high) const;
};

// Those of a layer, made at its first call in this form or after its weights have changed. All forms are
// kept: an LSTM may take steps and single products in turns, a convolution may see pictures of several widths
// (fewer than 32 forms, and more than one only of few channels). `s`: of the outputs one by one.
std::shared_ptr<const PackedInt8> kept_weights(const QuantizedConv& layer, const ConvSizes& s,
                                               const Int8Form& form, const View& w, const View& scale,
                                               const View* bias);

}  // namespace veldt::cpu
