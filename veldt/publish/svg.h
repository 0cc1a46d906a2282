// A field of two tones as outlines: SVG that any program draws at any size.
// Tests: tests/publish/svg_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/field/field.h"

namespace veldt::publish {

struct SvgOptions {
  std::string title = "A field";
  // In fitted pixels: the largest distance of an outline's points from its curve, twice that from a straight
  // line. 0: kTwoToneError if the picture had two tones, whose outlines follow the steps of its pixels, else
  // kGreyError.
  double error = 0;
};

struct Svg {
  std::string text;
  std::int64_t outlines = 0, curves = 0;
};

// The darker tone over the lighter one, cut where the level is half way between both. Pixel art becomes
// rectangles. Throws ConfigError for a sound, and for a field with more than two tones: one of colours, or
// one fitted to greys with more than kMostBetween of its area between the two.
Svg svg(const field::Field& field, const SvgOptions& options = {});
inline constexpr double kMostBetween = 0.25, kTwoToneError = 0.1, kGreyError = 0.03;

}  // namespace veldt::publish
