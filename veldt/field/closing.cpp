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
// Of an interpolated number: where 0 lies beside 1 it would grow without end, and spoil what lies between the
// pixels.
constexpr double kLargest = 0.5;

// The pixel of n that a place lies in.
std::int64_t pixel_at(double place, std::int64_t n) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(place)), 0, n - 1);
}

// The four nearest of n numbers to a place, and their weights; beyond the border they are those at the
// border.
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

// What has to be added to some numbers so that their mean, cut to 0..1, is `wanted`: by bisection, for the
// mean rises with it.
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

// What the means lack to be within the bounds.
Tensor lacking(const Bounds& bounds, const Tensor& means) {
  return minimum(maximum(means, bounds.low), bounds.high) - means;
}

// A number for all of each pixel whose mean is still beyond the tolerance: [height, width, channels].
// `levels` is what the rounds led to, `closed` the same within its bounds.
Tensor constants_for(const Bounds& bounds, const Tensor& levels, const Tensor& closed, double tolerance) {
  const std::int64_t height = bounds.low.size(0), width = bounds.low.size(1), channels = bounds.low.size(2),
                     samples = levels.size(0) / height;
  const Tensor out = zeros(bounds.low.shape());
  const Tensor means = means_of_squares(closed, samples), off = lacking(bounds, means);
  const float* const from = levels.data<float>();
  parallel_for(height, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> numbers(static_cast<std::size_t>(samples * samples));
    for (std::int64_t i = begin * width * channels; i < end * width * channels; ++i) {
      const float lacks = off.data<float>()[i];
      if (std::abs(static_cast<double>(lacks)) <= tolerance) continue;
      const std::int64_t c = i % channels, x = i / channels % width, y = i / channels / width;
      for (std::int64_t k = 0; k < samples * samples; ++k) {
        const std::int64_t row = y * samples + k / samples, column = x * samples + k % samples;
        numbers[static_cast<std::size_t>(k)] = from[(row * width * samples + column) * channels + c];
      }
      out.data<float>()[i] = shift_for(numbers, means.data<float>()[i] + lacks);
    }
  });
  return out;
}

}  // namespace

Closing::Closing(const Tensor& coefficients)
    : coefficients_(coefficients), levels_(contiguous(to(coefficients, DType::f32))) {}

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
          float sum = constants ? constants[(d.own * width + a.own) * channels + c] : 0.0f;
          for (std::size_t i = 0; i < 4; ++i)
            sum += a.weight[i] * line[static_cast<std::size_t>(a.at[i] * channels + c)];
          *put++ = sum;
        }
    }
  });
  return out;
}

Tensor Closing::flats(const std::vector<double>& rows, const std::vector<double>& columns) const {
  if (numbers() < 3) return {};
  const std::int64_t height = levels_.size(1), width = levels_.size(2), channels = levels_.size(3);
  const Tensor out = empty({std::ssize(rows), std::ssize(columns), channels});
  const float* const from = levels_.data<float>() + 2 * height * width * channels;
  float* put = out.data<float>();
  for (const double row : rows)
    for (const double column : columns) {
      put = std::copy_n(from + (pixel_at(row, height) * width + pixel_at(column, width)) * channels, channels,
                        put);
    }
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
        bool is_flat = true;
        for (std::int64_t dy = -kReach; dy <= kReach && is_flat; ++dy)
          for (std::int64_t dx = -kReach; dx <= kReach && is_flat; ++dx)
            is_flat = std::equal(own, own + channels, pixel(y + dy, x + dx));
        if (is_flat) std::copy_n(own, channels, out.data<float>() + (y * width + x) * channels);
      }
  });
  return out;
}

Closing close(const Bounds& bounds, const Tensor& levels, const Tensor& flats, double tolerance,
              DType dtype) {
  NoGrad off;
  const std::int64_t height = bounds.low.size(0), width = bounds.low.size(1);
  const std::int64_t samples = levels.size(0) / height;
  const bool has_flats = flats.defined() && max(flats).item() >= 0;
  const std::vector<double> columns = even_places(width, samples), rows = even_places(height, samples);
  Tensor wanted = zeros(bounds.low.shape()), constants = zeros(bounds.low.shape());
  const auto closing = [&] {
    if (has_flats) return Closing(to(stack({wanted, constants, flats}), dtype));
    if (max(abs(constants)).item() > 0) return Closing(to(stack({wanted, constants}), dtype));
    return Closing(to(unsqueeze(wanted, 0), dtype));
  };
  for (int round = 0; round < kRounds; ++round) {
    const Tensor lacks = lacking(bounds, means_of_squares(closing().closed(levels, rows, columns), samples));
    if (static_cast<double>(max(abs(lacks)).item()) <= tolerance) return closing();
    wanted = clamp(wanted + lacks, -kLargest, kLargest);
  }
  const Tensor sums = closing().closed(levels, rows, columns);
  constants = constants_for(bounds, levels + closing().at(rows, columns), sums, tolerance);
  return closing();
}

}  // namespace veldt::field
