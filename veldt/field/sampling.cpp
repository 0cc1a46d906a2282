#include "veldt/field/sampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/core/threads.h"
#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

// The seed's random streams that a fit draws from, besides the one for the weights.
constexpr std::uint64_t kEdgeOrder = 2, kFlatOrder = 3, kJitter = 4;
constexpr float kSameLevel = 1.0f / 64;  // neighbours closer than this are alike

std::uint64_t derived_seed(std::uint64_t seed, std::uint64_t stream) {
  Rng rng(seed, stream);
  const std::uint64_t high = rng.next_u32();
  return high << 32 | rng.next_u32();
}

// Pixels that differ from one of their eight neighbours, a bit each.
template <class T> std::vector<std::uint64_t> edge_bits(const T* samples, const Signal& signal, double same) {
  const std::int64_t height = signal.rows(), width = signal.columns(), channels = signal.channels();
  const auto differs = [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t c = 0; c < channels; ++c)
      if (std::abs(static_cast<double>(samples[a * channels + c] - samples[b * channels + c])) > same)
        return true;
    return false;
  };
  const auto is_edge = [&](std::int64_t i) {
    const std::int64_t y = i / width, x = i % width;
    for (std::int64_t j = std::max<std::int64_t>(0, y - 1); j <= std::min(height - 1, y + 1); ++j)
      for (std::int64_t k = std::max<std::int64_t>(0, x - 1); k <= std::min(width - 1, x + 1); ++k)
        if (differs(i, j * width + k)) return true;
    return false;
  };
  const std::int64_t points = signal.points();
  std::vector<std::uint64_t> words(static_cast<std::size_t>((points + 63) / 64));
  parallel_for(static_cast<std::int64_t>(words.size()), 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t word = begin; word < end; ++word)
      for (std::int64_t i = word * 64; i < std::min(points, word * 64 + 64); ++i)
        words[static_cast<std::size_t>(word)] |= std::uint64_t{is_edge(i)} << (i % 64);
  });
  return words;
}

Mask edges_of(const Signal& signal) {
  const Tensor& s = signal.samples();
  return Mask(s.dtype() == DType::u8 ? edge_bits(s.data<std::uint8_t>(), signal, 255 * kSameLevel)
                                     : edge_bits(s.data<float>(), signal, kSameLevel),
              signal.points());
}

}  // namespace

PointSampler::PointSampler(const Signal& signal, const FitPlan& plan)
    : signal_(signal),
      options_(plan.field),
      seed_(plan.seed),
      map_(plan.field),
      between_share_(plan.between_share) {
  const std::int64_t samples = options_.footprint * options_.footprint;
  const std::uint64_t order = derived_seed(seed_, kEdgeOrder);
  if (plan.edge_share <= 0) {
    edges_.emplace(signal.points(), std::max<std::int64_t>(1, plan.batch / samples), order);
    return;
  }
  mask_ = edges_of(signal);
  edge_share_ = static_cast<double>(mask_->count(true)) / static_cast<double>(signal.points());
  const auto pool = [&](bool edges, double size, std::uint64_t seed) {
    std::optional<data::BatchSampler> batches;
    if (mask_->count(edges) > 0)
      batches.emplace(mask_->count(edges), std::max<std::int64_t>(1, std::llround(size)), seed);
    return batches;
  };
  const auto points = static_cast<double>(plan.batch);
  edges_ = pool(true, points * plan.edge_share / static_cast<double>(samples), order);
  flats_ = pool(false, points * (1 - plan.edge_share), derived_seed(seed_, kFlatOrder));
}

bool PointSampler::takes_all() const {
  return !mask_ && edges_->batch() == signal_.points() && between_share_ == 0;
}

Tensor PointSampler::indices(const data::BatchSampler& order, bool edges, std::int64_t step) const {
  const Tensor picked = order.indices(step);
  if (!mask_) return picked;
  std::int64_t* at = picked.data<std::int64_t>();
  for (std::int64_t i = 0; i < picked.numel(); ++i) at[i] = mask_->find(edges, at[i]);
  return picked;
}

void PointSampler::place(const Tensor& indices, std::int64_t samples, bool jitter, std::int64_t step,
                         float* to) const {
  const std::int64_t n = indices.numel(), width = options_.width, inputs = map_.inputs();
  const auto w = static_cast<double>(width), h = static_cast<double>(options_.height);
  const std::int64_t* index = indices.data<std::int64_t>();
  const Rng rng(seed_, kJitter);
  const auto first_draw = static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(n) * 2;
  parallel_for(n, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const auto column = static_cast<double>(index[p] % width), row = static_cast<double>(index[p] / width);
      const std::uint64_t draw = first_draw + 2 * static_cast<std::uint64_t>(p);
      float* at = to + p * samples * samples * inputs;
      for (std::int64_t k = 0; k < samples * samples; ++k) {
        double dx = (static_cast<double>(k % samples) + 0.5) / static_cast<double>(samples);
        double dy = (static_cast<double>(k / samples) + 0.5) / static_cast<double>(samples);
        if (jitter) {
          dx = Rng::to_unit(rng.at(draw));
          dy = Rng::to_unit(rng.at(draw + 1));
        }
        at = map_.put((column + dx) / w, (row + dy) / h, at);
      }
    }
  });
}

void PointSampler::move_between(const Batch& batch, const Tensor& indices, std::int64_t step) const {
  const std::int64_t n = indices.numel(), moved = std::llround(between_share_ * static_cast<double>(n));
  const std::int64_t first = n - moved, width = options_.width, inputs = map_.inputs();
  const auto w = static_cast<double>(width), h = static_cast<double>(options_.height);
  const std::int64_t* index = indices.data<std::int64_t>() + first;
  const Rng rng(seed_, kJitter);
  const auto first_draw = static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(moved) * 2;
  std::vector<double> places(static_cast<std::size_t>(2 * moved));
  float* const to = batch.coordinates.data<float>() + first * inputs;
  parallel_for(moved, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::uint64_t draw = first_draw + 2 * static_cast<std::uint64_t>(p);
      double* const at = places.data() + 2 * p;
      at[0] = static_cast<double>(index[p] % width) + static_cast<double>(Rng::to_unit(rng.at(draw)));
      at[1] = static_cast<double>(index[p] / width) + static_cast<double>(Rng::to_unit(rng.at(draw + 1)));
      map_.put(at[0] / w, at[1] / h, to + p * inputs);
    }
  });
  signal_.between(places.data(), moved, batch.levels.data<float>() + first * signal_.channels());
}

Batch PointSampler::batch(std::int64_t step) const {
  Batch b;
  const std::int64_t s = options_.footprint, inputs = map_.inputs();
  const Tensor edges = edges_ ? indices(*edges_, true, step) : Tensor(),
               flats = flats_ ? indices(*flats_, false, step) : Tensor();
  b.edges = edges.defined() ? edges.numel() : 0;
  b.flats = flats.defined() ? flats.numel() : 0;
  b.coordinates = empty({b.edges * s * s + b.flats, inputs});
  float* to = b.coordinates.data<float>();
  if (b.edges > 0) place(edges, s, false, step, to);
  if (b.flats > 0) place(flats, 1, true, step, to + b.edges * s * s * inputs);
  b.levels = signal_.at(b.flats == 0 ? edges : b.edges == 0 ? flats : concat({edges, flats}));
  if (between_share_ > 0 && b.flats == 0 && s == 1) move_between(b, edges, step);
  return b;
}

}  // namespace veldt::field
