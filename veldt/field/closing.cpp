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

constexpr int kMostRounds = 100;

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
  }
  std::array<std::int64_t, 4> at;
  std::array<float, 4> weight;
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

}  // namespace

Closing::Closing(const Tensor& coefficients)
    : coefficients_(coefficients), levels_(contiguous(to(coefficients, DType::f32))) {}

Tensor Closing::at(const std::vector<double>& rows, const std::vector<double>& columns) const {
  const std::int64_t height = levels_.size(0), width = levels_.size(1), channels = levels_.size(2);
  const std::vector<Taps> down = taps_of(rows, height), across = taps_of(columns, width);
  const auto wide = static_cast<std::int64_t>(columns.size()), high = static_cast<std::int64_t>(rows.size());
  const Tensor out = empty({high, wide, channels});
  const float* const from = levels_.data<float>();
  const std::int64_t row_length = width * channels;
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
        for (std::int64_t c = 0; c < channels; ++c)
          *put++ = a.weight[0] * line[static_cast<std::size_t>(a.at[0] * channels + c)] +
                   a.weight[1] * line[static_cast<std::size_t>(a.at[1] * channels + c)] +
                   a.weight[2] * line[static_cast<std::size_t>(a.at[2] * channels + c)] +
                   a.weight[3] * line[static_cast<std::size_t>(a.at[3] * channels + c)];
    }
  });
  return out;
}

Closing close(const Tensor& picture, const Tensor& levels, double tolerance) {
  NoGrad off;
  const std::int64_t height = picture.size(0), width = picture.size(1);
  const std::int64_t samples = levels.size(0) / height;
  const std::vector<double> columns = even_places(width, samples), rows = even_places(height, samples);
  Tensor wanted = zeros(picture.shape());
  Closing closing(to(wanted, DType::f16));
  for (int round = 0; round < kMostRounds; ++round) {
    const Tensor closed = clamp(levels + closing.at(rows, columns), 0, 1);
    const Tensor lacking = picture - means_of_squares(closed, samples);
    if (max(abs(lacking)).item() <= tolerance) break;
    // Samples at the bound that they are pushed to do not follow: the others of the pixel go further, but not
    // so far that its neighbours have to come back.
    const Tensor upwards = means_of_squares(to(less(closed, 1.0), DType::f32), samples),
                 downwards = means_of_squares(to(greater(closed, 0.0), DType::f32), samples);
    const Tensor follow = where(greater(lacking, 0.0), upwards, downwards);
    wanted = wanted + lacking / clamp(follow, 0.25, 1.0);
    closing = Closing(to(wanted, DType::f16));
  }
  return closing;
}

}  // namespace veldt::field
