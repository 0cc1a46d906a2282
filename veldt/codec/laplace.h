// Integers that follow a Laplace distribution, through the range coder: the latents and the weights of a
// packed picture. The probabilities are integers computed from integers, the same on every machine. Tests:
// tests/codec/laplace_test.cpp
#pragma once

#include <cstdint>

#include "veldt/codec/range_coder.h"

namespace veldt::codec {

// Where the middle of a distribution lies, in steps of 1/16, and how wide it is: scale s is b = 2^(s/8 - 6)
// of the density exp(-|x - mean| / b) / 2b.
struct Laplace {
  std::int32_t mean16 = 0;  // 16 times the mean, within +-2^24
  int scale = 0;            // 0..kScales - 1
};

inline constexpr int kScales = 97;  // b from 1/64 to 64

void encode(RangeEncoder& out, Laplace distribution, std::int32_t value);
// Saturates at the ends of int32.
std::int32_t decode(RangeDecoder& in, Laplace distribution);
// Bits that encode() takes for the value, as a fraction of its probability.
double bits_of(Laplace distribution, std::int32_t value);

}  // namespace veldt::codec
