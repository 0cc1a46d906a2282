// The points of a training step.
//
// Samples of a sound, and pixels of most pictures, are drawn evenly. Line art is mostly paper, so even
// batches would mainly learn paper. Its pixels are split into two pools: those with a neighbour of another
// level (edges), and the rest (flat). Edges get the larger share of a batch and are compared through the
// camera's box filter, footprint x footprint samples per pixel. A flat pixel has one level everywhere, so its
// sample may be anywhere within it, which prevents ripples between pixel centres.
// Tests: tests/field/sampling_test.cpp
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "veldt/data/loader.h"
#include "veldt/data/sampler.h"
#include "veldt/field/coordinates.h"
#include "veldt/field/error_map.h"
#include "veldt/field/mask.h"
#include "veldt/field/choices.h"
#include "veldt/field/signal.h"
#include "veldt/tensor/tensor.h"

namespace veldt::field {

// A batch, or a part of one.
struct Batch {
  Tensor coordinates;                 // [edges * footprint^2 + flats, inputs], the edges' samples first
  Tensor levels;                      // [edges + flats, channels]
  std::int64_t edges = 0, flats = 0;  // pixels
  // Only of Sampling::error, see ErrorMap::Draw: the points of the whole batch, and the weights of these.
  Tensor ranks, weights;
};

// The pixels in bands from the top, each band column by column, so that runs of neighbours are blocks about
// as wide as high. A batch in this order reads nearby grid entries, which stay in the cache.
class BandOrder {
 public:
  // Bands of such a height that runs of `run` pixels are square.
  BandOrder(std::int64_t width, std::int64_t height, double run);
  // The row-major index of the pixel at this place of the order.
  std::int64_t pixel(std::int64_t rank) const {
    const std::int64_t row = rank / (rows_ * width_) * rows_, high = std::min(rows_, height_ - row);
    const std::int64_t within = rank - row * width_;
    return (row + within % high) * width_ + within / high;
  }

 private:
  std::int64_t width_, height_, rows_;
};

class PointSampler {
 public:
  PointSampler(const Signal& signal, const FitChoices& choices);

  // A pure function of the step, and of the error map if there is one. If a batch holds all points, every
  // step has the same one.
  Batch batch(std::int64_t step) const { return parts(step, {}).front(); }
  // These parts of it: neighbours among its edges, and among its flat pixels.
  std::vector<Batch> parts(std::int64_t step, const data::Parts& parts) const;
  // The pixels of a whole batch.
  std::int64_t edges() const { return errors_ ? errors_->batch() : edges_ ? edges_->batch() : 0; }
  std::int64_t flats() const { return flats_ ? flats_->batch() : 0; }
  bool takes_all() const;
  // The error map of Sampling::error; null for the others.
  ErrorMap* error_map() { return errors_ ? &*errors_ : nullptr; }
  // The share of all pixels that are edges (1 if they are not separated from flat ground).
  double edge_share() const { return edge_share_; }

 private:
  // Indices of points that are edges (`edges`) or flat, or of all points if there is no mask.
  Tensor indices(const data::BatchSampler& order, bool edges, std::int64_t step) const;
  // The pixels at these places of the order.
  Tensor pixels(const Tensor& ranks) const;

  // Some pixels of a batch: begin .. end - 1 of all its edges, or of all its flat ones.
  struct Some {
    const Tensor& indices;  // of all
    std::int64_t begin, end;

    std::int64_t count() const { return end - begin; }
  };

  // Some of the points are moved to random places between the samples.
  struct Moved {
    std::vector<std::int64_t> points;  // of the whole batch
    std::vector<double> places;        // column and row of each
    std::vector<double> frames = {};   // of a clip, see Signal::between()
  };
  Moved move_some(const Some& points, std::int64_t step) const;
  // Writes their levels to `levels`, which begin with the batch's point `first`.
  void put_levels(const Moved& moved, std::int64_t first, const Tensor& levels) const;

  // Writes the coordinates of the pixels' samples to `to`; `jitter` moves each sample at random within its
  // pixel.
  void place(const Some& pixels, std::int64_t samples, bool jitter, std::int64_t step, float* to) const;

  Signal signal_;
  FieldOptions options_;
  std::uint64_t seed_;
  CoordinateMap map_;
  double edge_share_ = 1, between_share_ = 0;
  BandOrder order_;
  std::optional<Mask> mask_;  // of the edges, in that order
  std::optional<data::BatchSampler> edges_, flats_;
  std::optional<ErrorMap> errors_;  // instead of both
};

}  // namespace veldt::field
