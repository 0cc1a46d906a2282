// A level's values at twice the size: between each value and the next, two new ones, each a weighted
// mean of the four nearest, columns and then rows. The edges are repeated.
// Tests: tests/codec/synthesis_test.cpp
#pragma once

namespace veldt::codec {

// Bicubic interpolation (a = -3/4) at a quarter between the values: exact multiples of 1/256. The weights of
// v[i - 2], v[i - 1], v[i] and v[i + 1] for the new value 2i; mirrored for 2i + 1.
inline constexpr int kUpsampling[4] = {-9, 67, 225, -27};
inline constexpr int kUpsamplingBits = 8;

}  // namespace veldt::codec
