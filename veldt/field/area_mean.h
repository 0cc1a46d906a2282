// Means over areas: each pixel of a drawing is the mean of the field's own samples over the area it covers,
// weighted at its border by the part inside. Input and output are in rows.
// Tests: tests/field/render_test.cpp
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::field {

// One side of the drawing. Samples have the indices first .. first + count - 1. Pixel i of `pixels` covers
// begin + i step to begin + (i + 1) step, where sample j is the interval j .. j + 1. The first and last
// sample extend beyond the ends.
struct AreaSide {
  std::int64_t pixels = 0, first = 0, count = 0;
  double begin = 0, step = 1;

  // The samples of a pixel's mean, from - first .., and their weights, whose sum is 1.
  struct Cover {
    std::int64_t from = 0;  // from 0
    std::vector<double> weights;
    std::int64_t end() const { return from + static_cast<std::int64_t>(weights.size()); }
  };
  Cover cover(std::int64_t pixel) const;

  // Samples of size 1 on a lattice that begins at 0; if `among` is above 0, only its first `among` samples.
  static AreaSide on_lattice(std::int64_t pixels, double begin, double step, std::int64_t among = 0);
  // The same number of samples in every pixel.
  static AreaSide even(std::int64_t pixels, std::int64_t samples);
};

class AreaMean {
 public:
  // A row of the drawing, pixels * channels levels; false stops.
  using Take = std::function<bool(const std::vector<float>& row)>;

  // With `has_alpha` colours are weighted by alpha, the last channel, so transparent samples do not count.
  // Begins with this row of the drawing, for which this row of samples is early enough.
  AreaMean(const AreaSide& across, const AreaSide& down, std::int64_t channels, bool has_alpha,
           std::int64_t row = 0, std::int64_t row_of_samples = 0);

  // Adds the next rows [n, across.count, channels], and passes the rows of the drawing that they complete to
  // `take`. False if that stopped.
  bool add(const Tensor& rows, const Take& take);

 private:
  using Line = std::vector<double>;  // for each pixel: the means of all channels, and of colours times alpha
  Line line_of(const float* samples) const;
  std::vector<float> row_of_lines() const;

  AreaSide across_, down_;
  std::int64_t channels_, sums_;
  std::vector<AreaSide::Cover> columns_;
  std::int64_t next_;        // row of the drawing
  AreaSide::Cover needs_;    // the samples of its mean
  std::deque<Line> lines_;   // weights of the rows of samples that are still needed
  std::int64_t lines_from_;  // the first of them
};

}  // namespace veldt::field
