// What a field lacks to be right at its pixels, found so that the mean over each pixel is the pixel: a number
// for each pixel and channel, interpolated between them, that is added to the field's levels; and, where that
// does not do, another one that is added all over its pixel.
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::field {

class Closing {
 public:
  Closing() = default;  // none
  // [1 or 2, height, width, channels], f16: those that are interpolated, then the others.
  explicit Closing(const Tensor& coefficients);

  explicit operator bool() const { return coefficients_.defined(); }
  const Tensor& coefficients() const { return coefficients_; }
  // For each pixel and channel.
  int numbers() const { return *this ? static_cast<int>(coefficients_.size(0)) : 0; }

  // At all crossings of these rows and columns, places in pixels (0.5 is the centre of the first), by cubic
  // convolution (Keys 1981): [rows, columns, channels], f32.
  Tensor at(const std::vector<double>& rows, const std::vector<double>& columns) const;

 private:
  Tensor coefficients_, levels_;  // the same in f16 and f32
};

// The closing of a field for `picture`, [height, width, channels] f32, given what the field draws at samples
// x samples even places of each pixel, [samples height, samples width, channels] in 0..1. The sums are cut to
// 0..1, and their means over the pixels lie within `tolerance` of these.
Closing close(const Tensor& picture, const Tensor& levels, double tolerance);

}  // namespace veldt::field
