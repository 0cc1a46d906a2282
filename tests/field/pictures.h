// Small pictures that a field learns in a second, and how well a field draws one.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "veldt/field/image_field.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/tensor.h"

namespace veldt::test {

// [height, width, channels]; `level` of column, row and channel.
inline Tensor draw(std::int64_t width, std::int64_t height, std::int64_t channels,
                   const std::function<double(double column, double row, int channel)>& level) {
  std::vector<float> values;
  for (std::int64_t row = 0; row < height; ++row)
    for (std::int64_t column = 0; column < width; ++column)
      for (int c = 0; c < channels; ++c)
        values.push_back(static_cast<float>(level(static_cast<double>(column), static_cast<double>(row), c)));
  return Tensor::from<float>({height, width, channels}, values);
}

// A disc on a slope, 24x24.
inline Tensor disc(std::int64_t channels = 1) {
  return draw(24, 24, channels, [](double x, double y, int c) {
    const bool inside = std::hypot(x - 11.5, y - 9) < 6;
    return inside ? 0.2 + 0.2 * c : (x + y * (c + 1)) / (24 * (c + 2));
  });
}

// A disc of ink on paper, 24x24.
inline Tensor ink() {
  return draw(24, 24, 1, [](double x, double y, int) { return std::hypot(x - 11.5, y - 9) < 6 ? 0.0 : 1.0; });
}

// Every level is a number from 0 to 1.
inline bool all_levels(const Tensor& picture) {
  for (const float v : picture.values<float>())
    if (!(v >= 0 && v <= 1)) return false;
  return true;
}

inline double largest_difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return INFINITY;
  const std::vector<float> x = to(a, Device{}).values<float>(), y = to(b, Device{}).values<float>();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    if (!(d <= largest)) largest = std::isnan(d) ? INFINITY : d;
  }
  return largest;
}

// A small field of a picture of this size, freshly initialised.
inline field::FieldOptions small_options(std::int64_t width, std::int64_t height, std::int64_t channels = 1) {
  field::FieldOptions options;
  options.widths = {16, 16};
  options.channels = channels;
  options.first_omega = 20;
  options.omega = 10;
  options.width = width;
  options.height = height;
  return options;
}

// The largest absolute value.
inline double largest(const Tensor& t) { return static_cast<double>(max(abs(t)).item()); }

}  // namespace veldt::test
