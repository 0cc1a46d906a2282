// The one part of EXIF that changes a picture: how the camera was held. For io's readers only.
// Tests: tests/io/picture_formats_test.cpp, tests/codecs/tiff_test.cpp, tests/codecs/avif_test.cpp,
// tests/fuzz/pictures.cpp
#pragma once

#include <span>

#include "veldt/tensor/tensor.h"

namespace veldt::io {

// The orientation tag of an APP1 segment's bytes ("Exif", two zeros, a TIFF), 1 to 8; 1, unchanged, if the
// bytes hold none or are invalid. Source: Exif 2.32, 4.6.4; TIFF 6.0, section 2.
int exif_orientation(std::span<const unsigned char> segment);

// The size after turning: 5 to 8 swap width and height.
constexpr bool swaps_sides(int orientation) { return orientation >= 5; }

// [h, w, c] as stored -> [h, w, c] or [w, h, c] as it is to be shown.
Tensor oriented(const Tensor& image, int orientation);

}  // namespace veldt::io
