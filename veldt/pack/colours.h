// A picture's colours along the axes of their principal components.
// Tests: tests/pack/colours_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veldt/codec/colour_axes.h"

namespace veldt::pack {

// Of bytes [pixels][3]. The principal components (Pearson 1901) are turned so that the first lies where grey
// does, the second near red against blue, and the third near green against both: the axes of a picture whose
// components are these are those of red, green and blue.
codec::ColourAxes principal_axes(std::span<const std::uint8_t> pixels);

// The numbers [pixels][3] of which the axes make these bytes: around codec::kAxesMiddle / 4096, and black and
// white are a distance of 1 in each colour apart.
std::vector<float> along_axes(std::span<const std::uint8_t> pixels, const codec::ColourAxes& axes);

}  // namespace veldt::pack
