// The distribution of a signal's energy over frequencies: a measure of its detail before it is fitted.
// Tests: tests/field/spectrum_test.cpp
#pragma once

#include <cstdint>

#include "veldt/field/signal.h"

namespace veldt::field {

// Frequencies are in cycles a sample, from 0 to 0.5 (Nyquist). All are 0 if nothing varies, as along an axis
// of one sample.
struct Spectrum {
  double bandwidth = 0;  // 95 % of the energy is below it; the mean of a line does not count as energy
  double centroid = 0;   // the mean of the frequencies, each weighted by its amplitude
};

enum class Axis : std::uint8_t { down, across };  // of a picture; a sound only has `down`, in time

// By Welch's method (1967): the mean power of the discrete Fourier transforms of segments that overlap by
// half, under a Hann window, of all channels alike. Segments are of 256 samples (2048 of a sound) or the
// largest power of two that fits; a large signal is represented by 64 lines with 512 segments, spread evenly,
// so the cost is bounded.
Spectrum spectrum_of(const Signal& signal, Axis axis);

// The same for a picture, row by row: keeps the lines that are looked at.
class SpectrumLines {
 public:
  SpectrumLines(Axis axis, std::int64_t rows, std::int64_t columns, std::int64_t channels, DType dtype);
  // The next rows, [n, columns, channels], u8 or f32.
  void add(const Tensor& rows);
  // After the last row.
  Spectrum spectrum() const;

 private:
  Axis axis_;
  std::int64_t count_, length_;  // of all lines, the samples of each
  std::int64_t next_row_ = 0, next_line_ = 0;
  Tensor lines_;  // [lines, length, channels]
};

}  // namespace veldt::field
