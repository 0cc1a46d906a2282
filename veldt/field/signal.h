// What a field is fitted to: samples on a lattice of positions, with one number for each channel. A picture
// is a lattice of rows and columns, a sound one of a single column. The samples stay in the dtype that they
// came in, so that a large picture of bytes costs its bytes; what is asked for comes as f32.
// Tests: tests/field/signal_test.cpp
#pragma once

#include <cstdint>

#include "veldt/tensor/tensor.h"

namespace veldt::field {

class Signal {
 public:
  // [height, width, channels], f32 in 0..1 or u8, where 255 stands for 1. Shares its memory, unless some of
  // its pixels are clear: they take the colour of the nearest one that can be seen. Throws ShapeError for
  // anything else, and for a picture without pixels. Not explicit: a picture is a signal.
  Signal(const Tensor& picture);  // NOLINT

  // f32 [frames, channels], with `rate` frames a second. Its samples are given as parts of the largest of
  // them. Throws ShapeError for another shape or dtype and for a sound without frames; Error for a NaN or
  // infinity; ConfigError for a rate below 1.
  static Signal sound(const Tensor& samples, std::int64_t rate);

  bool is_sound() const { return rate_ > 0; }
  std::int64_t rows() const { return samples_.size(0); }     // a picture's height, a sound's frames
  std::int64_t columns() const { return samples_.size(1); }  // a picture's width; 1
  std::int64_t channels() const { return samples_.size(2); }
  std::int64_t points() const { return rows() * columns(); }
  std::int64_t rate() const { return rate_; }  // frames a second; 0 of a picture
  // The largest absolute sample of a sound, which a sample of 1 below stands for; 0 for silence. 1 for a
  // picture.
  double peak() const { return peak_; }
  // The bits of a picture's levels: 8 if they are whole 255ths, else 16. 0 for a sound.
  int bits() const { return bits_; }
  // What errors are measured against, in dB: 1 of a picture (PSNR), the mean square of a sound's samples as
  // they are given below (SNR).
  double power() const { return power_; }

  // Rows first.. first + count: f32 [count, columns, channels].
  Tensor read(std::int64_t first, std::int64_t count) const;
  // Points by their row-major indices, i64 [n]: f32 [n, channels].
  Tensor at(const Tensor& indices) const;
  // The levels between samples, by cubic convolution (Keys 1981, a = -1/2), which at a sample's centre gives
  // the sample; positions f64 [n, 2] of (column, row), whose centres lie at whole numbers and a half. Beyond
  // the border its sample goes on. Writes [n, channels] to `to`.
  void between(const double* positions, std::int64_t n, float* to) const;
  // [rows, columns, channels] as they are kept: u8 or f32.
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
