// What the libraries of picture formats give, as a tensor. For the files of io alone.
// Tests: tests/codecs/tiff_test.cpp, tests/codecs/avif_test.cpp, tests/codecs/heif_test.cpp,
// tests/codecs/jxl_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

#include "veldt/tensor/tensor.h"

namespace veldt::io {

// Channels side by side; samples of up to 8 bits are bytes, those of more two in the machine's order.
struct Interleaved {
  const unsigned char* data = nullptr;
  std::size_t row_bytes = 0;
  std::int64_t width = 0, height = 0;
  int channels = 0;
  int bits = 8;
};

// [height, width, channels]: u8, or f32 of samples divided by their largest. A grey picture that came as
// three equal colours is asked for with 1 channel, or 2 with its alpha.
Tensor picture_from(const Interleaved& samples, int channels);

// Colours that were multiplied by their alpha, in place: divided by it again, 255 or 1 at most. Where nothing
// is seen they stay.
void unmultiply(const Tensor& image);

}  // namespace veldt::io
