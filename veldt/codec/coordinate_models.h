// The pixels of a packed drawing, coded exactly: each is a few bits whose probability is learned from the
// pixels before it.
// Tests: tests/codec/coordinate_codec_test.cpp
#pragma once

#include <cstdint>
#include <span>

#include "veldt/codec/coordinate_mixing.h"
#include "veldt/core/function_ref.h"
#include "veldt/core/size.h"

namespace veldt::codec {

// Writes or reads pixels that are 0 or 1, [height, width]. After each row `heard` gets the share that is
// done.
void code_two_tones(BitCoder& coder, std::span<std::uint8_t> pixels, Size size,
                    FunctionRef<void(double)> heard);

// The same for levels of 0 to 255, [height, width, channels].
void code_levels(BitCoder& coder, std::span<std::uint8_t> levels, Size size, std::int64_t channels,
                 FunctionRef<void(double)> heard);

}  // namespace veldt::codec
