#include "veldt/field/error_map.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/ops/create.h"

namespace veldt::field {
namespace {

constexpr double kEven = 0.5;    // of a batch is drawn evenly: no weight is above 1 / kEven
constexpr float kNewest = 0.1f;  // of a tile's mean is the error seen last

}  // namespace

ErrorMap::ErrorMap(std::int64_t points, std::int64_t batch, std::uint64_t seed)
    : points_(points),
      batch_(std::min(batch, points)),
      seed_(seed),
      errors_(ones({(points + kTile - 1) / kTile})) {}

// How often a point of each tile is drawn, as a multiple of even drawing: the variance of a weighted mean is
// least where that follows the root of the squared error.
std::vector<double> ErrorMap::densities() const {
  const float* const error = errors_.data<float>();
  std::vector<double> out(static_cast<std::size_t>(errors_.numel()));
  double sum = 0;
  for (std::size_t t = 0; t < out.size(); ++t) {
    out[t] = std::sqrt(static_cast<double>(error[t]));
    sum += out[t] * static_cast<double>(size_of(static_cast<std::int64_t>(t)));
  }
  const double mean = sum / static_cast<double>(points_);
  for (double& d : out) d = kEven + (1 - kEven) * (mean > 0 ? d / mean : 1);
  return out;
}

ErrorMap::Draw ErrorMap::draw(std::int64_t step) const {
  const std::vector<double> density = densities();
  Draw out{empty({batch_}, DType::i64), empty({batch_})};
  auto* const point = out.points.data<std::int64_t>();
  auto* const weight = out.weights.data<float>();
  const Rng rng(seed_, static_cast<std::uint64_t>(step));
  const double run = static_cast<double>(points_) / static_cast<double>(batch_);
  std::size_t t = 0;
  double before = 0, mass = density[0] * static_cast<double>(size_of(0));  // of earlier tiles, of this one
  for (std::int64_t i = 0; i < batch_; ++i) {
    const auto within_run = static_cast<double>(Rng::to_unit(rng.at(static_cast<std::uint64_t>(i))));
    const double at = (static_cast<double>(i) + within_run) * run;
    for (; t + 1 < density.size() && before + mass <= at;
         mass = density[t] * static_cast<double>(size_of(static_cast<std::int64_t>(t)))) {
      before += mass;
      ++t;
    }
    const auto tile = static_cast<std::int64_t>(t);
    const auto within = static_cast<std::int64_t>((at - before) / density[t]);
    point[i] = tile * kTile + std::clamp<std::int64_t>(within, 0, size_of(tile) - 1);
    weight[i] = static_cast<float>(1 / density[t]);
  }
  return out;
}

void ErrorMap::note(const Tensor& points, const Tensor& errors) const {
  const auto* const at = points.data<std::int64_t>();
  const auto* const seen = errors.data<float>();
  auto* const kept = errors_.data<float>();
  for (std::int64_t i = 0; i < points.numel(); ++i) {
    float& mean = kept[at[i] / kTile];
    mean += kNewest * (seen[i] - mean);
  }
}

}  // namespace veldt::field
