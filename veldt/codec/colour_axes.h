// The colours of a packed photograph lie along axes of its own: the networks make three numbers of each
// pixel, of which the first is what most of the picture's variance is in, and these axes make red, green and
// blue of them. So networks that were learned from many pictures suit one of other colours.
// Tests: tests/codec/synthesis_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace veldt::codec {

// colour[c] = mean[c] / 256 + the sum over k of matrix[c][k] / 64 (number[k] - kAxesMiddle / 4096). The
// matrix is nearly orthogonal, so an error of the numbers is nearly as large as that of the colours.
struct ColourAxes {
  std::array<std::array<std::int8_t, 3>, 3> matrix = {{{64, 0, 0}, {0, 64, 0}, {0, 0, 64}}};
  std::array<std::uint8_t, 3> mean = {115, 115, 115};

  bool operator==(const ColourAxes&) const = default;
};

inline constexpr std::int32_t kAxesMiddle = 115 * 16;
inline constexpr int kAxisBits = 6;  // fractional bits of the matrix
// In a file: the matrix row by row, the mean.
inline constexpr std::size_t kAxesBytes = 12;
static_assert(sizeof(ColourAxes) == kAxesBytes);

}  // namespace veldt::codec
