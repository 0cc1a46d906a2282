// Estimates the spectrum from windowed segments of some lines, averaged (Welch 1967).
#include "veldt/field/spectrum_lines.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>
#include <vector>

#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

using Complex = std::complex<double>;

constexpr std::int64_t kLines = 64, kSegments = 512;  // looked at, at most
constexpr double kShare = 0.95;

// The sum of the power of windowed segments, by frequency: bin k of `n` samples is k / n cycles a sample.
class Periodogram {
 public:
  explicit Periodogram(std::size_t n) : power_(n / 2 + 1), window_(n), turns_(n / 2), z_(n) {
    for (std::size_t i = 0; i < n; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
      window_[i] = 0.5 - 0.5 * std::cos(angle);
      if (i < n / 2) turns_[i] = {std::cos(angle), -std::sin(angle)};
    }
  }

  // Two real segments in one complex transform: |A|^2 + |B|^2 at k is (|Z|^2 at k + |Z|^2 at -k) / 2, and
  // the frequency -k counts as k.
  void add(const double* a, const double* b) {
    const std::size_t n = z_.size();
    for (std::size_t i = 0; i < n; ++i) z_[i] = window_[i] * Complex(a[i], b[i]);
    transform();
    power_[0] += std::norm(z_[0]);
    power_[n / 2] += std::norm(z_[n / 2]);
    for (std::size_t k = 1; k < n / 2; ++k) power_[k] += std::norm(z_[k]) + std::norm(z_[n - k]);
  }

  Spectrum spectrum() const {
    const auto n = static_cast<double>(z_.size());
    double energy = 0, amplitude = 0, weighted = 0;
    for (std::size_t k = 0; k < power_.size(); ++k) {
      energy += power_[k];
      amplitude += std::sqrt(power_[k]);
      weighted += std::sqrt(power_[k]) * static_cast<double>(k) / n;
    }
    if (!(energy > 0) || !std::isfinite(energy)) return {};
    double below = 0;
    std::size_t k = 0;
    while (k + 1 < power_.size() && below + power_[k] < kShare * energy) below += power_[k++];
    // A bin's energy is spread evenly from half a bin below it to half a bin above.
    const double part = (kShare * energy - below) / power_[k];
    return {.bandwidth = std::clamp((static_cast<double>(k) - 0.5 + part) / n, 0.0, 0.5),
            .centroid = weighted / amplitude};
  }

 private:
  // Cooley and Tukey 1965, by powers of two, in place.
  void transform() {
    const std::size_t n = z_.size();
    for (std::size_t i = 1, j = 0; i < n; ++i) {
      std::size_t bit = n / 2;
      for (; (j & bit) != 0; bit /= 2) j ^= bit;
      j |= bit;
      if (i < j) std::swap(z_[i], z_[j]);
    }
    for (std::size_t half = 1; half < n; half *= 2)
      for (std::size_t first = 0; first < n; first += 2 * half)
        for (std::size_t i = 0; i < half; ++i) {
          const Complex even = z_[first + i], odd = turns_[i * (n / 2 / half)] * z_[first + i + half];
          z_[first + i] = even + odd;
          z_[first + i + half] = even - odd;
        }
  }

  std::vector<double> power_, window_;
  std::vector<Complex> turns_, z_;
};

// The lines of one axis: `count` of them, each of `length` samples `step` apart.
struct Lines {
  std::int64_t count, length, step, apart;  // apart: from a line to the next
};

Lines lines_of(const Tensor& s, Axis axis) {
  const std::int64_t rows = s.size(0), columns = s.size(1), channels = s.size(2);
  if (axis == Axis::across) return {rows, columns, channels, columns * channels};
  return {columns, rows, columns * channels, channels};
}

// Line i of `lines`, among all.
std::int64_t place_of(std::int64_t i, std::int64_t lines, std::int64_t all) {
  return (2 * i + 1) * all / (2 * lines);
}

template <class T>
Spectrum spectrum_of(const T* samples, const Lines& all, std::int64_t channels, std::int64_t most) {
  const auto longest = static_cast<std::uint64_t>(std::min(all.length, most));
  const auto length = static_cast<std::int64_t>(std::bit_floor(longest));
  if (length < 2) return {};
  const std::int64_t lines = std::min(all.count, kLines);
  const std::int64_t overlapping = (2 * (all.length - length) + length - 1) / length + 1;
  const std::int64_t segments = std::min(overlapping, kSegments / lines);
  Periodogram sum(static_cast<std::size_t>(length));
  // One extra segment stays 0, to pair with the last one of an odd number.
  std::vector<double> line(static_cast<std::size_t>((segments + 1) * length));
  for (std::int64_t i = 0; i < lines; ++i)
    for (std::int64_t c = 0; c < channels; ++c) {
      const T* const first = samples + place_of(i, lines, all.count) * all.apart + c;
      double mean = 0;  // of the differences from the first sample, so that a constant gives exactly 0
      for (std::int64_t j = 0; j < segments * length; ++j) {
        const std::int64_t start = segments > 1 ? j / length * (all.length - length) / (segments - 1) : 0;
        const double value = static_cast<double>(first[(start + j % length) * all.step]) - first[0];
        line[static_cast<std::size_t>(j)] = value;
        mean += value / static_cast<double>(segments * length);
      }
      for (std::int64_t j = 0; j < segments * length; ++j) line[static_cast<std::size_t>(j)] -= mean;
      for (std::int64_t s = 0; s < segments; s += 2)
        sum.add(line.data() + s * length, line.data() + (s + 1) * length);
    }
  return sum.spectrum();
}

}  // namespace

Spectrum spectrum_of_samples(const Tensor& samples, Axis axis, std::int64_t segment) {
  const Lines lines = lines_of(samples, axis);
  return samples.dtype() == DType::u8
             ? spectrum_of(samples.data<std::uint8_t>(), lines, samples.size(2), segment)
             : spectrum_of(samples.data<float>(), lines, samples.size(2), segment);
}

SpectrumLines::SpectrumLines(Axis axis, std::int64_t rows, std::int64_t columns, std::int64_t channels,
                             DType dtype)
    : axis_(axis),
      count_(axis == Axis::across ? rows : columns),
      length_(axis == Axis::across ? columns : rows),
      lines_(empty({std::min(count_, kLines), length_, channels}, dtype)) {}

void SpectrumLines::add(const Tensor& rows) {
  const std::int64_t lines = lines_.size(0), end = next_row_ + rows.size(0);
  if (axis_ == Axis::across) {
    for (; next_line_ < lines && place_of(next_line_, lines, count_) < end; ++next_line_) {
      const std::int64_t row = place_of(next_line_, lines, count_) - next_row_;
      slice(lines_, 0, next_line_, next_line_ + 1).assign(slice(rows, 0, row, row + 1));
    }
  } else {
    for (std::int64_t i = 0; i < lines; ++i) {
      const std::int64_t column = place_of(i, lines, count_);
      slice(slice(lines_, 0, i, i + 1), 1, next_row_, end)
          .assign(permute(slice(rows, 1, column, column + 1), {1, 0, 2}));
    }
  }
  next_row_ = end;
}

Spectrum SpectrumLines::spectrum() const {
  return spectrum_of_samples(lines_, Axis::across, kPictureSegment);
}

}  // namespace veldt::field
