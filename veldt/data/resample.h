// Resizes pictures by classical filters: the baseline of a neural redraw, and the way to make small pictures
// from large ones.
// Tests: tests/data/resample_test.cpp
#pragma once

#include <cstdint>
#include <string_view>

#include "veldt/core/size.h"
#include "veldt/tensor/tensor.h"

namespace veldt::data {

// nearest takes the pixel under the centre. area is the exact mean over the area that an output pixel covers.
// The other three are kernels of radius 1, 2 (a = -0.5, Keys 1981) and 3, widened when shrinking, to prevent
// aliasing.
enum class Filter : std::uint8_t { nearest, bilinear, bicubic, lanczos3, area };

std::string_view name_of(Filter);
// Throws ConfigError listing the names there are.
Filter filter_from(std::string_view name);

// [h, w, c] f32 -> [height, width, c]. Pixel centres are at i + 0.5; at the border the remaining weights are
// scaled to sum to 1, as in Pillow. Bicubic and Lanczos overshoot: the result is not clamped. Throws
// ShapeError for another rank, dtype or an empty picture, and for a size below 1.
Tensor resample(const Tensor& image, Size size, Filter filter);

}  // namespace veldt::data
