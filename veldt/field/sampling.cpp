#include "veldt/field/sampling.h"

#include <algorithm>
#include <cmath>

#include "veldt/core/rng.h"
#include "veldt/core/threads.h"
#include "veldt/ops/gather.h"
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

// True for pixels that differ from one of their eight neighbours.
std::vector<bool> edge_mask(const Tensor& levels, std::int64_t height, std::int64_t width) {
  const std::int64_t channels = levels.size(1);
  const float* v = levels.data<float>();
  const auto differs = [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t c = 0; c < channels; ++c)
      if (std::abs(v[a * channels + c] - v[b * channels + c]) > kSameLevel) return true;
    return false;
  };
  std::vector<bool> edge(static_cast<std::size_t>(height * width));
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      bool found = false;
      for (std::int64_t j = std::max<std::int64_t>(0, y - 1); j <= std::min(height - 1, y + 1) && !found; ++j)
        for (std::int64_t i = std::max<std::int64_t>(0, x - 1); i <= std::min(width - 1, x + 1) && !found;
             ++i)
          found = differs(y * width + x, j * width + i);
      edge[static_cast<std::size_t>(y * width + x)] = found;
    }
  return edge;
}

}  // namespace

Tensor PixelSampler::Pool::indices(std::int64_t step) const {
  const Tensor picked = order.indices(step);
  if (pixels.empty()) return picked;
  std::int64_t* at = picked.data<std::int64_t>();
  for (std::int64_t i = 0; i < picked.numel(); ++i) at[i] = pixels[static_cast<std::size_t>(at[i])];
  return picked;
}

PixelSampler::PixelSampler(const Tensor& levels, const FitPlan& plan)
    : levels_(levels), options_(plan.field), seed_(plan.seed), map_(plan.field) {
  const std::int64_t pixels = levels.size(0), samples = options_.footprint * options_.footprint;
  const std::uint64_t order = derived_seed(seed_, kEdgeOrder);
  const auto points = static_cast<double>(plan.batch);
  if (plan.edge_share <= 0) {
    edges_ = Pool{{}, data::BatchSampler(pixels, std::max<std::int64_t>(1, plan.batch / samples), order)};
    return;
  }
  const std::vector<bool> mask = edge_mask(levels, options_.height, options_.width);
  std::vector<std::int64_t> edge, flat;
  for (std::int64_t i = 0; i < pixels; ++i) (mask[static_cast<std::size_t>(i)] ? edge : flat).push_back(i);
  edge_share_ = static_cast<double>(edge.size()) / static_cast<double>(pixels);
  const auto pool = [](std::vector<std::int64_t>&& members, double size, std::uint64_t seed) {
    const auto n = static_cast<std::int64_t>(members.size());
    return Pool{std::move(members),
                data::BatchSampler(n, std::max<std::int64_t>(1, std::llround(size)), seed)};
  };
  if (!edge.empty())
    edges_ = pool(std::move(edge), points * plan.edge_share / static_cast<double>(samples), order);
  if (!flat.empty())
    flats_ = pool(std::move(flat), points * (1 - plan.edge_share), derived_seed(seed_, kFlatOrder));
}

bool PixelSampler::whole_picture() const {
  return !flats_ && edges_->pixels.empty() && edges_->order.batch() == levels_.size(0);
}

void PixelSampler::place(const Tensor& indices, std::int64_t samples, bool jitter, std::int64_t step,
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
      for (std::int64_t k = 0; k < samples * samples; ++k, at += inputs) {
        double dx = (static_cast<double>(k % samples) + 0.5) / static_cast<double>(samples);
        double dy = (static_cast<double>(k / samples) + 0.5) / static_cast<double>(samples);
        if (jitter) {
          dx = Rng::to_unit(rng.at(draw));
          dy = Rng::to_unit(rng.at(draw + 1));
        }
        at[0] = map_.x((column + dx) / w);
        at[1] = map_.y((row + dy) / h);
        if (inputs == 3) at[2] = 1;
      }
    }
  });
}

Batch PixelSampler::batch(std::int64_t step) const {
  Batch b;
  const std::int64_t s = options_.footprint, inputs = map_.inputs();
  const Tensor edges = edges_ ? edges_->indices(step) : Tensor(),
               flats = flats_ ? flats_->indices(step) : Tensor();
  b.edges = edges.defined() ? edges.numel() : 0;
  b.flats = flats.defined() ? flats.numel() : 0;
  b.coordinates = empty({b.edges * s * s + b.flats, inputs});
  float* to = b.coordinates.data<float>();
  if (b.edges > 0) place(edges, s, false, step, to);
  if (b.flats > 0) place(flats, 1, true, step, to + b.edges * s * s * inputs);
  if (whole_picture())
    b.levels = levels_;
  else
    b.levels = index_select(levels_, 0, b.flats == 0 ? edges : b.edges == 0 ? flats : concat({edges, flats}));
  return b;
}

}  // namespace veldt::field
