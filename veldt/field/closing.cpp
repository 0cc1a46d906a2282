// Solves for the constants that close a field: a number for each pixel, so that all means are right.
#include "veldt/field/closing.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "veldt/core/threads.h"
#include "veldt/field/areas.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

constexpr int kRounds = 20;
// The bound of an interpolated number: where 0 is next to 1 it would grow without limit, and cause artefacts
// between the pixels.
constexpr double kLargest = 0.5;

// The pixel of n that contains a place.
std::int64_t pixel_at(double place, std::int64_t n) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(place)), 0, n - 1);
}

// The four nearest of n numbers to a place, and their weights; beyond the border the border's number counts.
struct Taps {
  Taps(double place, std::int64_t n) {
    const double first = std::floor(place - 0.5), t = place - 0.5 - first, u = 1 - t;
    weight = {static_cast<float>(-0.5 * t * u * u), static_cast<float>(1 - t * t * (2.5 - 1.5 * t)),
              static_cast<float>(1 - u * u * (2.5 - 1.5 * u)), static_cast<float>(-0.5 * u * t * t)};
    for (std::size_t i = 0; i < 4; ++i)
      at[i] = std::clamp<std::int64_t>(static_cast<std::int64_t>(first) - 1 + static_cast<std::int64_t>(i), 0,
                                       n - 1);
    own = pixel_at(place, n);
  }
  std::array<std::int64_t, 4> at;
  std::array<float, 4> weight;
  std::int64_t own;  // the pixel that the place lies in
};

std::vector<Taps> taps_of(const std::vector<double>& places, std::int64_t n) {
  std::vector<Taps> out;
  out.reserve(places.size());
  for (const double place : places) out.emplace_back(place, n);
  return out;
}

std::vector<double> even_places(std::int64_t pixels, std::int64_t samples) {
  std::vector<double> places;
  for (std::int64_t i = 0; i < pixels * samples; ++i)
    places.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(samples));
  return places;
}

// Encodes the level of flat ground outside of -8..8, the range of numbers that are added; f16 holds it to a
// quarter of a 255th.
constexpr float kFlat = -16, kFlatBelow = -12;
bool is_flat(float number) { return number < kFlatBelow; }

// The number to add to some numbers so that the mean of the sums, clamped to 0..1, is `wanted`: by bisection,
// because the mean rises with it.
float shift_for(const std::vector<float>& numbers, float wanted) {
  double low = -8, high = 8;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    double sum = 0;
    for (const float x : numbers) sum += std::clamp(static_cast<double>(x) + middle, 0.0, 1.0);
    (sum < static_cast<double>(wanted) * static_cast<double>(numbers.size()) ? low : high) = middle;
  }
  return static_cast<float>((low + high) / 2);
}

// The differences between the means and their bounds.
Tensor lacking(const Bounds& bounds, const Tensor& means) {
  return minimum(maximum(means, bounds.low), bounds.high) - means;
}

// Processes rows of pixels in bands, so that little memory is needed besides the field's levels.
class Bands {
 public:
  Bands(const Shape& picture, const Tensor& levels)
      : height_(picture[0]),
        samples_(levels.size(0) / picture[0]),
        levels_(levels),
        columns_(even_places(picture[1], samples_)) {
    most_ = std::max<std::int64_t>(1, (std::int64_t{1} << 20) / (levels.size(1) * samples_ * picture[2]));
  }
  // use(first row, rows, their levels, the samples' rows, the samples' columns)
  template <class Use> void each(const Use& use) const {
    for (std::int64_t first = 0; first < height_; first += most_) {
      const std::int64_t rows = std::min(most_, height_ - first);
      std::vector<double> places = even_places(rows, samples_);
      for (double& place : places) place += static_cast<double>(first);
      use(first, rows, slice(levels_, 0, first * samples_, (first + rows) * samples_), places, columns_);
    }
  }
  std::int64_t samples() const { return samples_; }

 private:
  std::int64_t height_, samples_, most_ = 1;
  Tensor levels_;
  std::vector<double> columns_;
};

// The differences that remain with this closing: [height, width, channels].
Tensor lacking(const Bounds& bounds, const Bands& bands, const Closing& closing) {
  const Tensor out = empty(bounds.low.shape());
  bands.each([&](std::int64_t first, std::int64_t rows, const Tensor& levels, const auto& down,
                 const auto& across) {
    const Tensor means = means_of_squares(contiguous(closing.closed(levels, down, across)), bands.samples());
    const Bounds own{slice(bounds.low, 0, first, first + rows), slice(bounds.high, 0, first, first + rows)};
    slice(out, 0, first, first + rows).assign(lacking(own, means));
  });
  return out;
}

// A number for the whole of each pixel whose mean still exceeds the tolerance: [height, width, channels].
Tensor constants_for(const Bounds& bounds, const Bands& bands, const Closing& closing, double tolerance) {
  const std::int64_t width = bounds.low.size(1), channels = bounds.low.size(2), samples = bands.samples();
  const Tensor out = zeros(bounds.low.shape());
  bands.each([&](std::int64_t first, std::int64_t rows, const Tensor& levels, const auto& down,
                 const auto& across) {
    const Tensor means = means_of_squares(contiguous(closing.closed(levels, down, across)), samples);
    const Bounds own{slice(bounds.low, 0, first, first + rows), slice(bounds.high, 0, first, first + rows)};
    const Tensor off = contiguous(lacking(own, means)), sums = contiguous(levels + closing.at(down, across));
    const float* const from = sums.data<float>();
    float* const put = out.data<float>() + first * width * channels;
    parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> numbers(static_cast<std::size_t>(samples * samples));
      for (std::int64_t i = begin * width * channels; i < end * width * channels; ++i) {
        const float lacks = off.data<float>()[i];
        if (std::abs(static_cast<double>(lacks)) <= tolerance) continue;
        const std::int64_t c = i % channels, x = i / channels % width, y = i / channels / width;
        for (std::int64_t k = 0; k < samples * samples; ++k) {
          const std::int64_t row = y * samples + k / samples, column = x * samples + k % samples;
          numbers[static_cast<std::size_t>(k)] = from[(row * width * samples + column) * channels + c];
        }
        put[i] = shift_for(numbers, means.data<float>()[i] + lacks);
      }
    });
  });
  return out;
}

}  // namespace

Closing::Closing(const Tensor& coefficients)
    : coefficients_(coefficients), levels_(contiguous(to(coefficients, DType::f32))) {
  if (levels_.size(0) < 2) return;
  const float* const numbers = levels_.data<float>() + levels_.numel() / 2;
  has_flats_ = std::any_of(numbers, numbers + levels_.numel() / 2, is_flat);
}

Tensor Closing::at(const std::vector<double>& rows, const std::vector<double>& columns) const {
  const std::int64_t height = levels_.size(1), width = levels_.size(2), channels = levels_.size(3);
  const std::vector<Taps> down = taps_of(rows, height), across = taps_of(columns, width);
  const auto wide = static_cast<std::int64_t>(columns.size()), high = static_cast<std::int64_t>(rows.size());
  const Tensor out = empty({high, wide, channels});
  const std::int64_t row_length = width * channels;
  const float* const from = levels_.data<float>();
  const float* const constants = numbers() >= 2 ? from + height * row_length : nullptr;
  parallel_for(high, std::max<std::int64_t>(1, 4096 / wide), [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> line(static_cast<std::size_t>(row_length));
    for (std::int64_t y = begin; y < end; ++y) {
      const Taps& d = down[static_cast<std::size_t>(y)];
      const std::array<const float*, 4> r = {from + d.at[0] * row_length, from + d.at[1] * row_length,
                                             from + d.at[2] * row_length, from + d.at[3] * row_length};
      for (std::size_t i = 0; i < line.size(); ++i)
        line[i] =
            d.weight[0] * r[0][i] + d.weight[1] * r[1][i] + d.weight[2] * r[2][i] + d.weight[3] * r[3][i];
      float* put = out.data<float>() + y * wide * channels;
      for (const Taps& a : across)
        for (std::int64_t c = 0; c < channels; ++c) {
          const float own = constants ? constants[(d.own * width + a.own) * channels + c] : 0.0f;
          float sum = is_flat(own) ? 0.0f : own;
          for (std::size_t i = 0; i < 4; ++i)
            sum += a.weight[i] * line[static_cast<std::size_t>(a.at[i] * channels + c)];
          *put++ = sum;
        }
    }
  });
  return out;
}

Tensor Closing::flats(const std::vector<double>& rows, const std::vector<double>& columns) const {
  if (!has_flats_) return {};
  const std::int64_t height = levels_.size(1), width = levels_.size(2), channels = levels_.size(3);
  const Tensor out = empty({std::ssize(rows), std::ssize(columns), channels});
  const float* const numbers = levels_.data<float>() + height * width * channels;
  std::vector<std::int64_t> pixels;
  for (const double column : columns) pixels.push_back(pixel_at(column, width));
  const std::int64_t wide = std::ssize(columns) * channels;
  parallel_for(
      std::ssize(rows), std::max<std::int64_t>(1, 4096 / wide), [&](std::int64_t begin, std::int64_t end) {
        float* put = out.data<float>() + begin * wide;
        for (std::int64_t y = begin; y < end; ++y) {
          const float* const line =
              numbers + pixel_at(rows[static_cast<std::size_t>(y)], height) * width * channels;
          for (const std::int64_t pixel : pixels)
            for (const float* from = line + pixel * channels; from != line + (pixel + 1) * channels; ++from)
              *put++ = is_flat(*from) ? std::clamp(*from / kFlat - 1, 0.0f, 1.0f) : -1.0f;
        }
      });
  return out;
}

Tensor Closing::closed(const Tensor& levels, const std::vector<double>& rows,
                       const std::vector<double>& columns) const {
  const Tensor sums = clamp(levels + to(at(rows, columns), levels.device()), 0, 1);
  const Tensor flat = flats(rows, columns);
  if (!flat.defined()) return sums;
  const Tensor own = to(flat, levels.device());
  return where(greater_equal(own, 0), own, sums);
}

Tensor flat_ground(const Tensor& picture) {
  constexpr std::int64_t kReach = 2;
  const std::int64_t height = picture.size(0), width = picture.size(1), channels = picture.size(2);
  const Tensor out = full(picture.shape(), -1);
  const float* const from = picture.data<float>();
  const auto pixel = [&](std::int64_t y, std::int64_t x) {
    return from +
           (std::clamp<std::int64_t>(y, 0, height - 1) * width + std::clamp<std::int64_t>(x, 0, width - 1)) *
               channels;
  };
  parallel_for(height, std::max<std::int64_t>(1, 4096 / width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t y = begin; y < end; ++y)
      for (std::int64_t x = 0; x < width; ++x) {
        const float* const own = pixel(y, x);
        // The colours of transparent pixels do not matter.
        const auto looks_alike = [&](const float* other) {
          return std::equal(own, own + channels, other) ||
                 (channels % 2 == 0 && own[channels - 1] == 0 && other[channels - 1] == 0);
        };
        bool is_flat = true;
        for (std::int64_t dy = -kReach; dy <= kReach && is_flat; ++dy)
          for (std::int64_t dx = -kReach; dx <= kReach && is_flat; ++dx)
            is_flat = looks_alike(pixel(y + dy, x + dx));
        if (is_flat) std::copy_n(own, channels, out.data<float>() + (y * width + x) * channels);
      }
  });
  return out;
}

Closing close(const Bounds& bounds, const Tensor& levels, const Tensor& flats, double tolerance, DType dtype,
              const Heard& heard) {
  NoGrad off;
  const Bands bands(bounds.low.shape(), levels);
  const bool has_flats = flats.defined() && max(flats).item() >= 0;
  Tensor wanted = zeros(bounds.low.shape()), constants = zeros(bounds.low.shape());
  const auto closing = [&] {
    if (has_flats)
      constants = where(greater_equal(flats, 0), affine(flats, double{kFlat}, double{kFlat}), constants);
    const bool is_alone = max(abs(constants)).item() == 0;
    return Closing(to(is_alone ? unsqueeze(wanted, 0) : stack({wanted, constants}), dtype));
  };
  // With one sample per pixel, it is at the closing's number, so one round is enough.
  const int rounds = bands.samples() == 1 ? 2 : kRounds;
  for (int round = 0; round < rounds; ++round) {
    const Closing now = closing();
    const Tensor lacks = lacking(bounds, bands, now);
    heard(static_cast<double>(round + 1) / (rounds + 1));
    if (static_cast<double>(max(abs(lacks)).item()) <= tolerance) return now;
    wanted = clamp(wanted + lacks, -kLargest, kLargest);
  }
  constants = constants_for(bounds, bands, closing(), tolerance);
  return closing();
}

}  // namespace veldt::field
