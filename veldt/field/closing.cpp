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
    own = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(place)), 0, n - 1);
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

// A number for all of each pixel whose mean is still beyond the tolerance: [height, width, channels].
Tensor constants_for(const Tensor& picture, const Tensor& levels, double tolerance) {
  const std::int64_t height = picture.size(0), width = picture.size(1), channels = picture.size(2),
                     samples = levels.size(0) / height;
  const Tensor out = zeros(picture.shape());
  const Tensor off = picture - means_of_squares(clamp(levels, 0, 1), samples);
  const float* const from = levels.data<float>();
  parallel_for(height, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> numbers(static_cast<std::size_t>(samples * samples));
    for (std::int64_t i = begin * width * channels; i < end * width * channels; ++i) {
      if (std::abs(static_cast<double>(off.data<float>()[i])) <= tolerance) continue;
      const std::int64_t c = i % channels, x = i / channels % width, y = i / channels / width;
      for (std::int64_t k = 0; k < samples * samples; ++k) {
        const std::int64_t row = y * samples + k / samples, column = x * samples + k % samples;
        numbers[static_cast<std::size_t>(k)] = from[(row * width * samples + column) * channels + c];
      }
      out.data<float>()[i] = shift_for(numbers, picture.data<float>()[i]);
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
  const float* const constants = numbers() == 2 ? from + height * row_length : nullptr;
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

Closing close(const Tensor& picture, const Tensor& levels, double tolerance) {
  NoGrad off;
  const std::int64_t height = picture.size(0), width = picture.size(1);
  const std::int64_t samples = levels.size(0) / height;
  const std::vector<double> columns = even_places(width, samples), rows = even_places(height, samples);
  Tensor wanted = zeros(picture.shape().with_inserted(0, 1));
  Closing closing(to(wanted, DType::f16));
  for (int round = 0; round < kRounds; ++round) {
    const Tensor closed = clamp(levels + closing.at(rows, columns), 0, 1);
    const Tensor lacking = picture - means_of_squares(closed, samples);
    if (static_cast<double>(max(abs(lacking)).item()) <= tolerance) return closing;
    wanted = clamp(wanted + unsqueeze(lacking, 0), -kLargest, kLargest);
    closing = Closing(to(wanted, DType::f16));
  }
  const Tensor constants = constants_for(picture, levels + closing.at(rows, columns), tolerance);
  if (max(abs(constants)).item() == 0) return closing;
  return Closing(to(concat({wanted, unsqueeze(constants, 0)}), DType::f16));
}

}  // namespace veldt::field
