// The correction that makes a field exact, so that the mean over each pixel is the pixel: a number for each
// pixel and channel, interpolated between them, that is added to the field's levels; where that is not
// enough, another one that is added to the whole pixel; and inside flat ground the level itself instead of
// the field's.
// Tests: tests/field/closing_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/field/watch.h"
#include "veldt/tensor/tensor.h"

namespace veldt::field {

class Closing {
 public:
  Closing() = default;  // none
  // [1 or 2, height, width, channels], f16, or f32 for pictures of more than 8 bits: those that are
  // interpolated, then the others. The number -16 (1 + level) means flat ground of that level.
  explicit Closing(const Tensor& coefficients);

  explicit operator bool() const { return coefficients_.defined(); }
  const Tensor& coefficients() const { return coefficients_; }
  bool has_flats() const { return has_flats_; }
  // For each pixel and channel.
  int numbers() const { return *this ? static_cast<int>(coefficients_.size(0)) : 0; }

  // At all crossings of these rows and columns, places in pixels (0.5 is the centre of the first), by cubic
  // convolution (Keys 1981): [rows, columns, channels], f32.
  Tensor at(const std::vector<double>& rows, const std::vector<double>& columns) const;

  // At the same places, the levels of flat ground, which replace the field's own, and -1 elsewhere. Undefined
  // if there is no flat ground.
  Tensor flats(const std::vector<double>& rows, const std::vector<double>& columns) const;

  // `levels` corrected by the closing, within 0..1.
  Tensor closed(const Tensor& levels, const std::vector<double>& rows,
                const std::vector<double>& columns) const;

 private:
  Tensor coefficients_, levels_;  // the same in f16 and f32
  bool has_flats_ = false;
};

// The levels of the pixels in the middle of 5x5 of one colour, and -1 elsewhere: [height, width, channels],
// as the picture.
Tensor flat_ground(const Tensor& picture);

// The allowed means over the pixels, [height, width, channels] f32 each: the picture itself twice, or an
// interval.
struct Bounds {
  Tensor low, high;
};

// The closing of a field, given what the field draws at samples x samples even places of each pixel, [samples
// height, samples width, channels] in 0..1. The sums are clamped to 0..1, and their means over the pixels are
// within `tolerance` of the bounds, apart from the rounding of the numbers to `dtype`. `flats`: the result of
// flat_ground(), or undefined.
Closing close(
    const Bounds& bounds, const Tensor& levels, const Tensor& flats, double tolerance,
    DType dtype = DType::f16, const Heard& heard = [](double) {});

}  // namespace veldt::field
