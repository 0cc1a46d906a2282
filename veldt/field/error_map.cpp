// Stores the errors of a picture tile by tile, and draws points in proportion to them.
#include "veldt/field/error_map.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/core/threads.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

constexpr double kEven = 0.5;  // share of a batch that is drawn evenly, so that no weight is above 1 / kEven
constexpr float kNewest = 0.1f;  // share of the latest error in a tile's mean
constexpr float kUnseen = -1;
constexpr std::int64_t kLeastTile = 64;  // points
constexpr std::int64_t kSteps = 8;       // in which a tile is visited about once
constexpr std::int64_t kBlock = 512;     // tiles, and points: ten microseconds of work

}  // namespace

std::int64_t ErrorMap::tile_for(std::int64_t points, std::int64_t batch) {
  return std::max(kLeastTile, points / kSteps / batch);
}

ErrorMap::ErrorMap(std::int64_t points, std::int64_t batch, std::uint64_t seed)
    : points_(points),
      batch_(std::min(batch, points)),
      tile_(tile_for(points, batch_)),
      seed_(seed),
      errors_(full({(points + tile_ - 1) / tile_}, kUnseen)) {}

// How often a point of each tile is drawn, as a multiple of even drawing: the variance of a weighted mean is
// smallest if that is proportional to the root of the squared error. f64 [tiles].
Tensor ErrorMap::densities() const {
  const std::int64_t tiles = errors_.numel(), blocks = (tiles + kBlock - 1) / kBlock;
  const Tensor out = empty({tiles}, DType::f64), sums = empty({2, blocks}, DType::f64);
  const auto* const error = errors_.data<float>();
  auto* const density = out.data<double>();
  auto *const roots = sums.data<double>(), *const seen = roots + blocks;  // of each block's seen points
  parallel_for(tiles, kBlock, [&](std::int64_t begin, std::int64_t end) {
    double root_sum = 0, points = 0;
    for (std::int64_t t = begin; t < end; ++t) {
      if (error[t] < 0) continue;
      density[t] = std::sqrt(static_cast<double>(error[t]));
      root_sum += density[t] * static_cast<double>(size_of(t));
      points += static_cast<double>(size_of(t));
    }
    roots[begin / kBlock] = root_sum;
    seen[begin / kBlock] = points;
  });
  const double sum = std::accumulate(roots, roots + blocks, 0.0);
  const double mean = sum > 0 ? sum / std::accumulate(seen, seen + blocks, 0.0) : 0;
  parallel_for(tiles, kBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t)
      density[t] = kEven + (1 - kEven) * (mean > 0 && error[t] >= 0 ? density[t] / mean : 1);
  });
  return out;
}

// The cumulative density at the end of each tile: f64 [tiles], up to about the number of points.
Tensor ErrorMap::ends(const Tensor& densities) const {
  const std::int64_t tiles = errors_.numel();
  const Tensor out = empty({tiles}, DType::f64);
  const auto* const density = densities.data<double>();
  auto* const end_of = out.data<double>();
  parallel_for(tiles, kBlock, [&](std::int64_t begin, std::int64_t end) {
    double within = 0;
    for (std::int64_t t = begin; t < end; ++t)
      end_of[t] = within += density[t] * static_cast<double>(size_of(t));
  });
  double before = 0;
  for (std::int64_t begin = 0; begin < tiles; begin += kBlock) {
    const std::int64_t end = std::min(begin + kBlock, tiles);
    for (std::int64_t t = begin; t < end; ++t) end_of[t] += before;
    before = end_of[end - 1];
  }
  return out;
}

ErrorMap::Draw ErrorMap::draw(std::int64_t step) const {
  const Tensor densities = this->densities(), ends = this->ends(densities);
  const Draw out{empty({batch_}, DType::i64), empty({batch_})};
  const auto *const density = densities.data<double>(), *const end_of = ends.data<double>();
  auto* const point = out.points.data<std::int64_t>();
  auto* const weight = out.weights.data<float>();
  const Rng rng(seed_, static_cast<std::uint64_t>(step));
  const double run = static_cast<double>(points_) / static_cast<double>(batch_);
  const std::int64_t last = errors_.numel() - 1;
  parallel_for(batch_, kBlock, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t t = std::upper_bound(end_of, end_of + last, static_cast<double>(begin) * run) - end_of;
    for (std::int64_t i = begin; i < end; ++i) {
      // All 32 bits: the 24 of to_unit() would leave out points of a long run.
      const double within_run = static_cast<double>(rng.at(static_cast<std::uint64_t>(i))) * 0x1p-32;
      const double at = (static_cast<double>(i) + within_run) * run;
      while (t < last && end_of[t] <= at) ++t;
      const auto within = static_cast<std::int64_t>((at - (t > 0 ? end_of[t - 1] : 0)) / density[t]);
      point[i] = t * tile_ + std::clamp<std::int64_t>(within, 0, size_of(t) - 1);
      weight[i] = static_cast<float>(1 / density[t]);
    }
  });
  return out;
}

void ErrorMap::note(const Tensor& points, const Tensor& errors) {
  const auto* const at = points.data<std::int64_t>();
  const auto* const seen = errors.data<float>();
  auto* const kept = errors_.data<float>();
  for (std::int64_t i = 0; i < points.numel(); ++i) {
    float& mean = kept[at[i] / tile_];
    mean = mean < 0 ? seen[i] : mean + kNewest * (seen[i] - mean);
  }
}

void ErrorMap::load(const Tensor& errors) {
  const std::vector<float> given = to(errors, DType::f32).values<float>();
  for (std::size_t t = 0; t < given.size(); ++t)
    if (given[t] != kUnseen && !(std::isfinite(given[t]) && given[t] >= 0))
      throw IoError(IoError::Kind::corrupt, "the map of errors cannot be restored",
                    str("its tile ", t, " has a squared error of ", given[t]), "start a new run");
  errors_.assign(errors);
}

}  // namespace veldt::field
