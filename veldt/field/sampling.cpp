// Draws the points of each step: in bands, along edges, between pixels, evenly.
#include "veldt/field/sampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/core/threads.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

// The seed's random streams of a fit, besides the one for the weights.
constexpr std::uint64_t kEdgeOrder = 2, kFlatOrder = 3, kJitter = 4, kBetween = 5, kBetweenFrames = 6;
constexpr std::int64_t kGrain = 512;     // points: ten microseconds of placing
constexpr float kSameLevel = 1.0f / 64;  // neighbours closer than this are alike

std::uint64_t derived_seed(std::uint64_t seed, std::uint64_t stream) {
  Rng rng(seed, stream);
  const std::uint64_t high = rng.next_u32();
  return high << 32 | rng.next_u32();
}

// The own pixels that differ from one of their eight neighbours, a bit each: i64 [words].
template <class T> Tensor edge_bits(const Signal& signal, const BandOrder& order, double same) {
  const std::int64_t height = signal.rows(), width = signal.columns(), channels = signal.channels();
  const Signal::Rows own = signal.own();
  const T* const samples = signal.samples().template data<T>() - signal.first_here() * width * channels;
  const auto differs = [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t c = 0; c < channels; ++c)
      if (std::abs(static_cast<double>(samples[a * channels + c] - samples[b * channels + c])) > same)
        return true;
    return false;
  };
  const auto is_edge = [&](std::int64_t i) {
    const std::int64_t y = i / width, x = i % width;
    if (!own.has(y)) return false;
    for (std::int64_t j = std::max<std::int64_t>(0, y - 1); j <= std::min(height - 1, y + 1); ++j)
      for (std::int64_t k = std::max<std::int64_t>(0, x - 1); k <= std::min(width - 1, x + 1); ++k)
        if (differs(i, j * width + k)) return true;
    return false;
  };
  const std::int64_t points = signal.points();
  const Tensor words = zeros({(points + 63) / 64}, DType::i64);
  auto* const word_of = words.data<std::int64_t>();
  parallel_for(words.numel(), 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t word = begin; word < end; ++word) {
      std::uint64_t bits = 0;
      for (std::int64_t i = word * 64; i < std::min(points, word * 64 + 64); ++i)
        bits |= std::uint64_t{is_edge(order.pixel(i))} << (i % 64);
      word_of[word] = static_cast<std::int64_t>(bits);
    }
  });
  return words;
}

Mask edges_of(const Signal& signal, const BandOrder& order) {
  const Tensor words = signal.samples().dtype() == DType::u8
                           ? edge_bits<std::uint8_t>(signal, order, 255 * kSameLevel)
                           : edge_bits<float>(signal, order, kSameLevel);
  // Each bit is set on one rank at most, so that none carries into another.
  if (signal.ranks() != nullptr) signal.ranks()->all_reduce(words);
  const auto* const word = words.data<std::int64_t>();
  return Mask(std::vector<std::uint64_t>(word, word + words.numel()), signal.points());
}

// The pixels of a step: an edge pixel, or any pixel if edges are not separated, takes footprint^2 points.
double pixels_a_step(const FitChoices& choices) {
  const double edges = choices.edge_share > 0 ? choices.edge_share : 1;
  const auto samples = static_cast<double>(choices.field.footprint * choices.field.footprint);
  return std::max(1.0, static_cast<double>(choices.batch) * (edges / samples + (1 - edges)));
}

// The order: rows for shuffled batches, runs of one batch sample each for stratified ones, tiles for an error
// map.
BandOrder order_for(const Signal& signal, const FitChoices& choices) {
  const std::int64_t points = signal.points();
  const double batch = pixels_a_step(choices);
  double run = 1;
  if (choices.sampling == Sampling::stratified) run = static_cast<double>(points) / batch;
  if (choices.sampling == Sampling::error)
    run = static_cast<double>(ErrorMap::tile_for(points, static_cast<std::int64_t>(batch)));
  return {signal.columns(), signal.rows(), run};
}

}  // namespace

BandOrder::BandOrder(std::int64_t width, std::int64_t height, double run)
    : width_(width),
      height_(height),
      rows_(std::clamp<std::int64_t>(std::llround(std::sqrt(run)), 1, height)) {}

PointSampler::PointSampler(const Signal& signal, const FitChoices& choices)
    : signal_(signal),
      options_(choices.field),
      seed_(choices.seed),
      map_(choices.field),
      between_share_(choices.between_share),
      order_(order_for(signal, choices)) {
  const std::int64_t samples = options_.footprint * options_.footprint;
  const auto order = choices.sampling == Sampling::uniform ? data::Order::shuffled : data::Order::stratified;
  const std::uint64_t seed = derived_seed(seed_, kEdgeOrder);
  if (choices.edge_share <= 0) {
    const std::int64_t size = std::max<std::int64_t>(1, choices.batch / samples);
    if (choices.sampling == Sampling::error)
      errors_.emplace(signal.points(), size, seed);
    else
      edges_.emplace(signal.points(), size, seed, order);
    return;
  }
  mask_ = edges_of(signal, order_);
  edge_share_ = static_cast<double>(mask_->count(true)) / static_cast<double>(signal.points());
  const auto pool = [&](bool edges, double size, std::uint64_t pool_seed) {
    std::optional<data::BatchSampler> batches;
    if (mask_->count(edges) > 0)
      batches.emplace(mask_->count(edges), std::max<std::int64_t>(1, std::llround(size)), pool_seed, order);
    return batches;
  };
  const auto points = static_cast<double>(choices.batch);
  edges_ = pool(true, points * choices.edge_share / static_cast<double>(samples), seed);
  flats_ = pool(false, points * (1 - choices.edge_share), derived_seed(seed_, kFlatOrder));
}

bool PointSampler::takes_all() const {
  return !mask_ && !errors_ && edges_->batch() == signal_.points() && between_share_ == 0;
}

Tensor PointSampler::pixels(const Tensor& ranks) const {
  const Tensor out = empty(ranks.shape(), ranks);
  const auto* const rank = ranks.data<std::int64_t>();
  auto* const pixel = out.data<std::int64_t>();
  parallel_for(ranks.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) pixel[i] = order_.pixel(rank[i]);
  });
  return out;
}

Tensor PointSampler::indices(const data::BatchSampler& order, bool edges, std::int64_t step) const {
  const Tensor picked = order.indices(step);
  if (!mask_) return pixels(picked);
  auto* const at = picked.data<std::int64_t>();
  parallel_for(picked.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) at[i] = mask_->find(edges, at[i]);
  });
  return pixels(picked);
}

void PointSampler::place(const Some& pixels, std::int64_t samples, bool jitter, std::int64_t step,
                         float* to) const {
  const std::int64_t n = pixels.indices.numel(), width = options_.width, inputs = map_.inputs();
  const std::int64_t height = signal_.is_clip() ? options_.height : signal_.rows();
  const auto w = static_cast<double>(width), h = static_cast<double>(options_.height);
  const std::int64_t* index = pixels.indices.data<std::int64_t>();
  const Rng rng(seed_, kJitter);
  const auto first_draw = static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(n) * 2;
  parallel_for(pixels.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = pixels.begin + begin; p < pixels.begin + end; ++p) {
      const auto column = static_cast<double>(index[p] % width),
                 row = static_cast<double>(index[p] / width % height),
                 time = signal_.time_of(index[p] / width / height);
      const std::uint64_t draw = first_draw + 2 * static_cast<std::uint64_t>(p);
      float* at = to + (p - pixels.begin) * samples * samples * inputs;
      for (std::int64_t k = 0; k < samples * samples; ++k) {
        double dx = (static_cast<double>(k % samples) + 0.5) / static_cast<double>(samples);
        double dy = (static_cast<double>(k / samples) + 0.5) / static_cast<double>(samples);
        if (jitter) {
          dx = Rng::to_unit(rng.at(draw));
          dy = Rng::to_unit(rng.at(draw + 1));
        }
        at = map_.put((column + dx) / w, (row + dy) / h, time, at);
      }
    }
  });
}

PointSampler::Moved PointSampler::move_some(const Some& points, std::int64_t step) const {
  const std::int64_t n = points.indices.numel(), width = options_.width;
  // As evenly as the share allows, from a different start in each step: a batch may be in order, and one of
  // all pixels is the same each time.
  const Rng rng(seed_, kJitter);
  const double start = Rng::to_unit(rng.at(static_cast<std::uint64_t>(step)));
  Moved moved;
  std::int64_t before = 0;  // of the batch's points that are moved
  for (std::int64_t i = 0; i < points.end; ++i) {
    if (std::floor(start + between_share_ * static_cast<double>(i + 1)) <=
        std::floor(start + between_share_ * static_cast<double>(i)))
      continue;
    if (i < points.begin)
      ++before;
    else
      moved.points.push_back(i);
  }
  const std::int64_t* index = points.indices.data<std::int64_t>();
  const Rng places_rng(seed_, kBetween);
  const auto first_draw = static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(n) * 2;
  moved.places.resize(2 * moved.points.size());
  const bool is_clip = signal_.is_clip();
  const std::int64_t height = is_clip ? options_.height : signal_.rows();
  const Rng frames_rng(seed_, kBetweenFrames);
  if (is_clip) moved.frames.resize(moved.points.size());
  parallel_for(std::ssize(moved.points), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t i = moved.points[static_cast<std::size_t>(p)];
      const std::uint64_t draw = first_draw + 2 * static_cast<std::uint64_t>(before + p);
      double* const at = moved.places.data() + 2 * p;
      at[0] = static_cast<double>(index[i] % width) + static_cast<double>(Rng::to_unit(places_rng.at(draw)));
      at[1] = static_cast<double>(index[i] / width % height) +
              static_cast<double>(Rng::to_unit(places_rng.at(draw + 1)));
      if (is_clip)
        moved.frames[static_cast<std::size_t>(p)] =
            static_cast<double>(index[i] / width / height) - 0.5 +
            static_cast<double>(Rng::to_unit(frames_rng.at(draw / 2)));
    }
  });
  return moved;
}

void PointSampler::put_levels(const Moved& moved, std::int64_t first, const Tensor& levels) const {
  const auto channels = static_cast<std::size_t>(signal_.channels());
  const Tensor between = signal_.between(moved.places.data(), std::ssize(moved.points),
                                         moved.frames.empty() ? nullptr : moved.frames.data());
  for (std::size_t p = 0; p < moved.points.size(); ++p)
    std::copy_n(between.data<float>() + p * channels, channels,
                levels.data<float>() + static_cast<std::size_t>(moved.points[p] - first) * channels);
}

std::vector<Batch> PointSampler::parts(std::int64_t step, const data::Parts& parts) const {
  const std::int64_t s = options_.footprint, inputs = map_.inputs();
  Tensor ranks, weights;
  if (errors_) {
    const ErrorMap::Draw drawn = errors_->draw(step);
    ranks = drawn.points;
    weights = drawn.weights;
  }
  const Tensor edges = errors_  ? pixels(ranks)
                       : edges_ ? indices(*edges_, true, step)
                                : Tensor(),
               flats = flats_ ? indices(*flats_, false, step) : Tensor();
  const auto some_of = [&parts](const Tensor& all, std::int64_t part) {
    const std::int64_t n = all.defined() ? all.numel() : 0;
    return Some{all, parts.begin_of(part, n), parts.begin_of(part + 1, n)};
  };
  const auto levels_of = [this](const Some& of_edges, const Some& of_flats) {
    std::vector<Tensor> chosen;
    for (const Some& some : {of_edges, of_flats})
      if (some.count() > 0) chosen.push_back(slice(some.indices, 0, some.begin, some.end));
    return signal_.at(chosen.size() == 1 ? contiguous(chosen[0]) : cat(chosen, 0));
  };
  const bool moves = between_share_ > 0 && !flats.defined() && s == 1;
  // Those who share the signal tell each other the levels of the whole batch.
  Tensor all;
  if (signal_.ranks() != nullptr) {
    const Some of_edges{edges, 0, this->edges()};
    all = levels_of(of_edges, {flats, 0, this->flats()});
    if (moves) put_levels(move_some(of_edges, step), 0, all);
  }
  std::vector<Batch> out;
  for (std::int64_t part = parts.first; part < parts.end; ++part) {
    const Some of_edges = some_of(edges, part), of_flats = some_of(flats, part);
    Batch& b = out.emplace_back();
    b.ranks = ranks;
    b.edges = of_edges.count();
    b.flats = of_flats.count();
    if (weights.defined()) b.weights = slice(weights, 0, of_edges.begin, of_edges.end);
    b.coordinates = empty({b.edges * s * s + b.flats, inputs});
    float* to = b.coordinates.data<float>();
    if (b.edges > 0) place(of_edges, s, false, step, to);
    if (b.flats > 0) place(of_flats, 1, true, step, to + b.edges * s * s * inputs);
    b.levels = all.defined()
                   ? cat({slice(all, 0, of_edges.begin, of_edges.end),
                          slice(all, 0, this->edges() + of_flats.begin, this->edges() + of_flats.end)})
                   : levels_of(of_edges, of_flats);
    if (!moves) continue;
    const Moved moved = move_some(of_edges, step);
    for (std::size_t p = 0; p < moved.points.size(); ++p)
      map_.put(moved.places[2 * p] / static_cast<double>(options_.width),
               moved.places[2 * p + 1] / static_cast<double>(options_.height),
               moved.frames.empty() ? 0.5 : signal_.time_at(moved.frames[p]),
               to + (moved.points[p] - of_edges.begin) * inputs);
    if (!all.defined()) put_levels(moved, of_edges.begin, b.levels);
  }
  return out;
}

}  // namespace veldt::field
