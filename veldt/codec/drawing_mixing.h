// The probability of a bit from several guesses at it: adaptive counters of contexts, and logistic mixing of
// what they say (Mahoney 2005, "Adaptive weighing of context models for lossless data compression"). Integers
// alone, so that encoder and decoder agree on every machine.
// Tests: tests/codec/drawing_mixing_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "veldt/codec/range_coder.h"

namespace veldt::codec {

// ln(p / (1 - p)) with 8 fractional bits, for a p in parts of 2^16, within +-kMostLogit; and back, within 1
// to 2^16 - 1.
inline constexpr std::int32_t kMostLogit = 2815;  // 11 * 256 - 1
std::int32_t logit_of(std::uint32_t probability);
std::uint32_t probability_of(std::int32_t logit);

// Writes bits, or reads them: the models of a picture are the same code for both.
class BitCoder {
 public:
  explicit BitCoder(RangeEncoder& out) : out_(&out) {}
  explicit BitCoder(RangeDecoder& in) : in_(&in) {}
  bool reads() const { return in_ != nullptr; }
  // Writes `bit`, or returns the one that is read. `one`: the probability of a 1, 1 to 2^16 - 1.
  bool code(bool bit, std::uint32_t one);

 private:
  RangeEncoder* out_ = nullptr;
  RangeDecoder* in_ = nullptr;
};

// What was seen in one context: the share of ones, and how often it was asked.
struct BitCount {
  std::uint16_t one = 1 << 15;
  std::uint16_t times = 0;

  void see(bool bit, int most);
};

// Mixes a fixed number of guesses with weights that it learns, one set of them for each `choice`.
class BitMixer {
 public:
  // `first`: the weight of each guess to begin with, in parts of 2^16.
  BitMixer(std::size_t guesses, std::size_t choices, std::int32_t first, int rate);

  std::size_t guesses() const { return guesses_.size(); }
  // The weight of one guess to begin with.
  void set(std::size_t guess, std::int32_t weight);
  // Guess number i as a logit.
  void guess(std::size_t i, std::int32_t logit) { guesses_[i] = logit; }
  // The probability of a 1.
  std::uint32_t mix(std::size_t choice);
  void learn(bool bit);

 private:
  std::vector<std::int32_t> guesses_, weights_;
  std::vector<std::uint32_t> times_;  // that each set was used
  std::size_t at_ = 0;                // the first weight in use
  std::uint32_t one_ = 1 << 15;
  int rate_;
};

}  // namespace veldt::codec
