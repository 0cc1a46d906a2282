// The distribution of energy over frequencies in the lines of a picture or sound.
// Tests: tests/field/spectrum_test.cpp, tests/field/shared_signal_test.cpp
#pragma once

#include <cstdint>

#include "veldt/tensor/tensor.h"

namespace veldt::field {

// Frequencies are in cycles a sample, from 0 to 0.5 (Nyquist). All are 0 if nothing varies, as along an axis
// of one sample.
struct Spectrum {
  double bandwidth = 0;  // 95 % of the energy is below it; the mean of a line does not count as energy
  double centroid = 0;   // the mean of the frequencies, each weighted by its amplitude
};

enum class Axis : std::uint8_t { down, across };  // of a picture; a sound only has `down`, in time

// The longest segments of spectrum_of_samples(), in samples.
inline constexpr std::int64_t kPictureSegment = 256, kSoundSegment = 2048;

// As spectrum_of() in spectrum.h; samples [rows, columns, channels], u8 or f32.
Spectrum spectrum_of_samples(const Tensor& samples, Axis axis, std::int64_t segment);

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
