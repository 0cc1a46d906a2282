// The data that a field is fitted to: samples on a lattice of positions, with one number for each channel. A
// picture is a lattice of rows and columns, a sound one of a single column. The samples keep their dtype, so
// that a large picture of bytes takes only its bytes; they are read as f32.
// Tests: tests/field/signal_test.cpp
#pragma once

#include <cstdint>

#include "veldt/tensor/tensor.h"

namespace veldt::field {

class Signal {
 public:
  // [height, width, channels], f32 in 0..1 or u8, where 255 is 1. Shares its memory, unless some pixels are
  // fully transparent: they get the colour of the nearest visible one. Throws ShapeError for anything else,
  // and for a picture without pixels. Not explicit: a picture is a signal.
  Signal(const Tensor& picture);  // NOLINT

  // f32 [frames, channels], with `rate` frames a second. Its samples are read as shares of the largest one.
  // Throws ShapeError for another shape or dtype and for a sound without frames; Error for a NaN or infinity;
  // ConfigError for a rate below 1.
  static Signal sound(const Tensor& samples, std::int64_t rate);

  bool is_sound() const { return rate_ > 0; }
  std::int64_t rows() const { return samples_.size(0); }     // a picture's height, a sound's frames
  std::int64_t columns() const { return samples_.size(1); }  // a picture's width; 1
  std::int64_t channels() const { return samples_.size(2); }
  std::int64_t points() const { return rows() * columns(); }
  std::int64_t rate() const { return rate_; }  // frames a second; 0 of a picture
  // The largest absolute sample of a sound, the unit of the samples below; 0 for silence. 1 for a picture.
  double peak() const { return peak_; }
  // The bits of a picture's levels: 8 if they are multiples of 1/255, else 16. 0 for a sound.
  int bits() const { return bits_; }
  // The reference of errors in dB: 1 for a picture (PSNR), the mean square of a sound's samples as read below
  // (SNR).
  double power() const { return power_; }

  // Rows first.. first + count: f32 [count, columns, channels].
  Tensor read(std::int64_t first, std::int64_t count) const;
  // Points by their row-major indices, i64 [n]: f32 [n, channels].
  Tensor at(const Tensor& indices) const;
  // The levels between samples, by cubic convolution (Keys 1981, a = -1/2), which is exact at a sample's
  // centre; positions f64 [n, 2] of (column, row), where centres are at integers plus one half. Beyond the
  // border its sample is repeated. Writes [n, channels] to `to`.
  void between(const double* positions, std::int64_t n, float* to) const;
  // [rows, columns, channels] as stored: u8 or f32.
  const Tensor& samples() const { return samples_; }

 private:
  Signal() = default;

  Tensor samples_;
  std::int64_t rate_ = 0;
  double peak_ = 1, power_ = 1;
  int bits_ = 0;
};

// How well a mean squared error reproduces a signal, in dB: infinite for no error, NaN for a NaN.
double decibels(const Signal& signal, double mean_squared_error);

}  // namespace veldt::field
