// The output of picture libraries, as a tensor. Only for the files of io.
// Tests: tests/codecs/tiff_test.cpp, tests/codecs/avif_test.cpp, tests/codecs/heif_test.cpp,
// tests/codecs/jxl_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

#include "veldt/tensor/tensor.h"

namespace veldt::io {

// Interleaved channels; samples of up to 8 bits are one byte, larger ones two in the machine's order.
struct Interleaved {
  const unsigned char* data = nullptr;
  std::size_t row_bytes = 0;
  std::int64_t width = 0, height = 0;
  int channels = 0;
  int bits = 8;
};

// [height, width, channels]: u8, or f32 samples divided by their maximum. For a grey picture stored as three
// equal colours, ask for 1 channel, or 2 with its alpha.
Tensor picture_from(const Interleaved& samples, int channels);

// Divides premultiplied colours by their alpha again, in place, up to 255 or 1. Fully transparent ones stay
// unchanged.
void unmultiply(const Tensor& image);

}  // namespace veldt::io
