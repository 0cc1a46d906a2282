// Making a field smaller: each pixel is the mean of the field's own samples over the ground it covers, those
// at its border by the part of them that lies within. Samples arrive in chunks and leave as whole rows.
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::field {

// One side of the drawing. Samples have the numbers first .. first + count - 1; pixel i of `pixels` covers
// the numbers from begin + i step to begin + (i + 1) step, where sample j is the interval j .. j + 1. `step`
// is at least 1.
struct ShrunkSide {
  std::int64_t pixels = 0, first = 0, count = 0;
  double begin = 0, step = 1;

  // The pixel that a sample begins in, which may be one before the first, and what the sample weighs there
  // and in the next one.
  struct Share {
    std::int64_t pixel;
    double here, next;
  };
  Share share(std::int64_t sample) const;

  // Samples of size 1 on a lattice that begins at 0.
  static ShrunkSide on_lattice(std::int64_t pixels, double begin, double step);
  // As many samples in every pixel.
  static ShrunkSide even(std::int64_t pixels, std::int64_t samples);
};

class AreaMean {
 public:
  AreaMean(const ShrunkSide& across, const ShrunkSide& down, std::int64_t channels);

  // Adds samples [n, channels] that follow the last ones in row-major order, of across.count a row.
  void add(const Tensor& samples);
  // Rows that are whole and have not been taken.
  std::int64_t rows_ready() const { return ready_; }
  // Those rows: [rows_ready(), across.pixels, channels], f32.
  Tensor take();

 private:
  void finish_pixel_row();

  ShrunkSide across_, down_;
  std::int64_t channels_;
  std::int64_t row_ = 0, column_ = 0;  // of the next sample, from 0
  std::int64_t pixel_row_ = -1;        // whose sums `here_` holds; `next_` those of the one after
  std::vector<double> here_, next_;
  std::vector<float> out_;
  std::int64_t ready_ = 0;
};

}  // namespace veldt::field
