// What changes of pictures are made of, f32 [channels, height, width]: for the transforms of augment.h and
// corrupt.h.
// Tests: tests/data/augment_test.cpp, tests/data/corrupt_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/data/loader.h"
#include "veldt/ops/shape.h"

namespace veldt::data {

// Throws ConfigError unless it holds.
inline void require(bool holds, const std::string& what, const char* why, const char* fix) {
  if (!holds) throw ConfigError(what, why, fix);
}

// A transform that only changes the picture: fn(picture, rng), which is contiguous.
template <class Fn> Transform of_picture(Fn fn) {
  return [fn](Example example, Rng& rng) -> Example {
    Tensor& picture = example.at(0);
    if (picture.rank() != 3 || picture.dtype() != DType::f32)
      throw ShapeError(str("cannot augment ", picture.dtype(), ' ', picture.shape()),
                       "pictures are f32 [channels, height, width]", "convert it with to(), or permute() it");
    picture = fn(contiguous(picture), rng);
    return example;
  };
}

// Turned about the middle by `turn` radians, counter-clockwise, moved by dx and dy pixels, enlarged, and
// sheared along x by that tangent; bilinear, and `fill` outside.
struct Placement {
  double turn = 0, dx = 0, dy = 0, scale = 1, shear = 0, fill = 0;
};
Tensor placed(const Tensor& picture, const Placement& p);

// x blended with `other`: other + factor (x - other), clamped to 0..1.
void blend(float* x, std::int64_t count, const float* other, float factor);
// The brightness of each pixel: of three channels by ITU-R BT.601, else the first.
std::vector<float> luma(const float* planes, std::int64_t pixels, std::int64_t channels);
float mean_luma(const float* planes, std::int64_t pixels, std::int64_t channels);

}  // namespace veldt::data
