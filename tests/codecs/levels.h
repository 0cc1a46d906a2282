// Pictures as numbers, for the tests that have the libraries' own encoders write them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/io/read_bytes.h"

namespace veldt::test {

// Channels side by side, in row-major order.
struct Levels {
  int width = 1, height = 1, channels = 1, bits = 8;
  std::vector<int> samples = {};

  int largest() const { return (1 << bits) - 1; }
};

// Whatever a number of the width may be, with an alpha that is nowhere all there is.
inline Levels some_levels(int width, int height, int channels, int bits) {
  Levels levels{width, height, channels, bits, {}};
  std::uint32_t state = 1;
  for (int i = 0; i < width * height * channels; ++i) {
    state = state * 1664525u + 1013904223u;
    levels.samples.push_back(static_cast<int>(state >> 8) & levels.largest());
  }
  if (channels % 2 == 0) levels.samples.back() = 1;
  return levels;
}

// Takes a tensor of bytes, or of fractions of the largest level.
inline std::vector<int> levels_in(const Tensor& image, int bits) {
  if (image.dtype() == DType::u8) return bytes_in(image);
  std::vector<int> levels;
  for (const float v : image.values<float>()) {
    const float level = v * static_cast<float>((1 << bits) - 1);
    EXPECT_LT(std::abs(level - std::round(level)), 0.01f) << level;
    levels.push_back(static_cast<int>(std::lround(level)));
  }
  return levels;
}

inline void expect_read(const std::string& bytes, const Levels& levels) {
  const auto [image, info] = read_bytes_of(bytes);
  EXPECT_EQ(image.shape(), (Shape{levels.height, levels.width, levels.channels}));
  EXPECT_EQ(image.dtype(), levels.bits > 8 ? DType::f32 : DType::u8);
  EXPECT_EQ(info.bit_depth, levels.bits);
  EXPECT_EQ(info.channels, levels.channels);
  EXPECT_EQ(levels_in(image, levels.bits), levels.samples);
}

// 1 2 3 above 4 5 6, as it is to be seen for EXIF's orientations 1 to 8 (of CIPA DC-008, 4.6.4).
inline const std::vector<std::vector<int>> kSeen = {
    {1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1}, {4, 5, 6, 1, 2, 3},
    {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3}, {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}};

inline void expect_seen(const std::string& bytes, int orientation) {
  const Tensor image = read_bytes_of(bytes).image;
  const bool swapped = orientation >= 5;
  EXPECT_EQ(image.size(0), swapped ? 3 : 2);
  EXPECT_EQ(image.size(1), swapped ? 2 : 3);
  std::vector<int> first;
  const std::vector<int> all = bytes_in(image);
  for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(image.size(2)))
    first.push_back(all[i]);
  EXPECT_EQ(first, kSeen[static_cast<std::size_t>(orientation - 1)]) << orientation;
}

inline void expect_refused_at_any_length(const std::string& whole) {
  for (std::size_t length = 0; length < whole.size(); ++length)
    ASSERT_EQ(error_of_bytes_of(whole.substr(0, length)).kind(), IoError::Kind::malformed) << length;
}

}  // namespace veldt::test
