// What drawings of two tones look like: a small network that guesses a pixel from 84 before it, taught on
// other drawings (recipes/prior/two_tone_pixels.py). It is part of the format: other numbers are another
// version. Integers alone.
// Tests: tests/codec/drawing_prior_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace veldt::codec {

// The logit of a 1 at `here` (as in drawing_mixing.h), with pixels of 0 and 1 in rows of `stride`; read
// are those up to 7 above, and 7 to both sides. None if they are all alike.
std::optional<std::int32_t> prior_logit(const std::uint8_t* here, std::ptrdiff_t stride);

}  // namespace veldt::codec
