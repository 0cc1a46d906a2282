// Colours for the pixels of a photograph that are clear: nobody sees them, so they are what costs least.
// Tests: tests/pack/transparent_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veldt/core/size.h"

namespace veldt::pack {

// `rgb` [height][width][3] with the colours of its clear pixels, where alpha [height][width] is 0, replaced
// by those around them: of each square of 2, 4, 8 .. pixels the mean of what is seen in it (push and pull:
// Gortler et al. 1996).
std::vector<std::uint8_t> clear_filled(std::vector<std::uint8_t> rgb, std::span<const std::uint8_t> alpha,
                                       Size size);

}  // namespace veldt::pack
