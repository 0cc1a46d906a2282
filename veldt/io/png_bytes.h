// Small pictures as PNGs in memory: for pages, reports and terminals.
// Tests: tests/io/png_bytes_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "veldt/core/size.h"
#include "veldt/tensor/tensor.h"

namespace veldt::io {

// The PNG of pixels u8 [height, width, channels], rows from the top, of 1 (grey) to 4 (RGB and alpha)
// channels. Throws ShapeError for another number of bytes, ConfigError for another number of channels or a
// side outside of 1..65535.
std::string png_bytes(std::span<const std::uint8_t> pixels, Size size, int channels);
// The same of levels 0..1, f32 [height, width, channels], rounded.
std::string png_bytes(const Tensor& levels);

}  // namespace veldt::io
