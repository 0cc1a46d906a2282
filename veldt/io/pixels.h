// A picture tensor as plain floats in host memory. Only for what writes pictures.
// Tests: tests/io/image_write_test.cpp, tests/io/pixel_csv_test.cpp
#pragma once

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/tensor/tensor.h"

namespace veldt::io {

struct Pixels {
  Tensor image;  // f32, contiguous, on the CPU: keeps the memory
  const float* values = nullptr;
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t channels = 0;
};

// Takes [height, width, channels] or [height, width] of a float dtype; copies only if needed. Throws
// ShapeError.
Pixels host_pixels(const Tensor& image);

// 0..1 to 0..levels, clamped, rounded half up. The value is not a NaN.
inline unsigned level_of(float value, float levels) {
  return static_cast<unsigned>(std::clamp(value, 0.0f, 1.0f) * levels + 0.5f);
}

inline Error nan_in_picture(std::int64_t x, std::int64_t y) {
  return {"cannot write a picture with a NaN in it",
          str("the value at column ", x, ", row ", y, " is not a number"),
          "check the source of the picture; training may have diverged"};
}

}  // namespace veldt::io
