// The similarity of two pictures.
// Tests: tests/train/picture_scores_test.cpp
#pragma once

#include <cstdint>
#include <memory>

#include "veldt/core/size.h"
#include "veldt/tensor/tensor.h"

namespace veldt::train {

struct PictureScore {
  double psnr = 0;                // dB, over all channels; infinite for identical pictures
  double ssim = 0;                // 1 for identical pictures; mean over the channels
  double mae = 0;                 // mean absolute difference in 8-bit levels, 0..255
  double max_abs = 0;             // largest absolute difference in 8-bit levels
  std::int64_t wrong_pixels = 0;  // any channel on the other side of mid-grey; 0.5 and above is light
};

// The same for pictures given row by row from the top, in the memory of a few rows.
class PictureComparison {
 public:
  // Throws ShapeError for a size of 0.
  PictureComparison(Size size, std::int64_t channels);
  ~PictureComparison();
  // The next rows of both, f32 [rows, width, channels]. Throws ShapeError for others, and for too many.
  void add(const Tensor& a, const Tensor& b);
  // Throws ShapeError if rows are missing.
  PictureScore score() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Pictures are f32 [height, width, channels] in 0..1. Throws ShapeError naming both shapes when they differ,
// are empty or of another rank, and for another dtype.
PictureScore compare_pictures(const Tensor& a, const Tensor& b);

// 10 log10(1 / mean squared difference).
double psnr(const Tensor& a, const Tensor& b);

// Structural similarity (Wang, Bovik, Sheikh, Simoncelli 2004): Gaussian windows of 11 x 11 with
// deviation 1.5, K1 0.01, K2 0.03, level range 1, averaged over the windows that lie within the picture and
// over the channels. Along a side shorter than 11 the window shrinks to the largest odd size that fits.
double ssim(const Tensor& a, const Tensor& b);

}  // namespace veldt::train
