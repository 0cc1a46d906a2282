// The pixels of a packed picture, coded exactly: each is a few bits whose probability is learned from the
// pixels before it, and from what the picture's network says there.
// Tests: tests/codec/coordinate_codec_test.cpp
#pragma once

#include <cstdint>
#include <span>

#include "veldt/codec/coordinate_mixing.h"
#include "veldt/core/function_ref.h"
#include "veldt/core/size.h"

namespace veldt::codec {

// What a network says of every number of a picture, [height, width, channels], row-major: -2^16 for a level
// of 0, 2^16 for 255, and beyond. Empty: there is no network.
using Expected = std::span<const std::int32_t>;

// Writes or reads pixels that are 0 or 1, [height, width]; `expected` has one channel. After each row `heard`
// gets the share that is done.
void code_two_tones(BitCoder& coder, std::span<std::uint8_t> pixels, Size size, Expected expected,
                    FunctionRef<void(double)> heard);

// The same for levels of 0 to 255, [height, width, channels].
void code_levels(BitCoder& coder, std::span<std::uint8_t> levels, Size size, std::int64_t channels,
                 Expected expected, FunctionRef<void(double)> heard);

}  // namespace veldt::codec
