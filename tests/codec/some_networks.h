// Networks of a packed photograph with small numbers by chance, and latents.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "veldt/codec/colour_axes.h"
#include "veldt/codec/latents.h"
#include "veldt/codec/networks.h"

namespace veldt::codec {

inline float some_number(std::mt19937& random) {
  return static_cast<float>(static_cast<double>(random()) / 2147483648.0 - 1);
}

inline Networks<float> some_networks(unsigned seed) {
  std::mt19937 random(seed);
  Networks<float> networks{};
  for (float& n : networks.numbers()) n = 0.1f * some_number(random);
  for (float& b : networks.synthesis.colour_bias) b = 0.5f;
  for (auto& filter : networks.synthesis.upsampling) {
    filter[1] += 0.25f;
    filter[2] += 0.75f;
  }
  return networks;
}

// Some turn, and a picture that is not grey.
inline constexpr ColourAxes kSomeAxes = {{{{55, 20, -24}, {-12, 58, 24}, {30, -17, 53}}}, {100, 140, 90}};

// Most of them 0, the coarse ones larger.
inline Pyramid some_latents(Size picture, unsigned seed) {
  std::mt19937 random(seed);
  Pyramid pyramid = whole_pyramid(picture);
  for (std::size_t l = 0; l < kLevels; ++l)
    for (std::int64_t y = 0; y < pyramid[l].level().height; ++y)
      for (std::int64_t x = 0; x < pyramid[l].level().width; ++x)
        pyramid[l].row(y)[x] = static_cast<std::int16_t>(
            std::lround(std::pow(some_number(random), 3) * static_cast<float>(l + 1) * 2));
  return pyramid;
}

}  // namespace veldt::codec
