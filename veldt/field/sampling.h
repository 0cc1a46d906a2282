// Which points a training step looks at.
//
// Samples of a sound, and pixels of most pictures, are drawn evenly. Line art is nearly all paper, so even
// batches learn paper. Its pixels fall into two pools: those with a
// neighbour of another level (edges), and the rest (flat). Edges get the larger share of a batch and are
// compared through the camera's box filter, footprint x footprint samples a pixel. A flat pixel has one level
// all over, so its sample may lie anywhere within it: that keeps the field from rippling between pixel
// centres.
#pragma once

#include <cstdint>
#include <optional>

#include "veldt/data/sampler.h"
#include "veldt/field/coordinates.h"
#include "veldt/field/mask.h"
#include "veldt/field/plan.h"
#include "veldt/field/signal.h"
#include "veldt/tensor/tensor.h"

namespace veldt::field {

struct Batch {
  Tensor coordinates;                 // [edges * footprint^2 + flats, inputs], the edges' samples first
  Tensor levels;                      // [edges + flats, channels]
  std::int64_t edges = 0, flats = 0;  // pixels
};

class PointSampler {
 public:
  PointSampler(const Signal& signal, const FitPlan& plan);

  // A pure function of the step. When a batch holds all points, every step gives the same one.
  Batch batch(std::int64_t step) const;
  bool takes_all() const;
  // The share of all pixels that are edges (1 when they are not told from flat ground).
  double edge_share() const { return edge_share_; }

 private:
  // Indices of points that are edges (`edges`) or flat, or of any when there is no mask.
  Tensor indices(const data::BatchSampler& order, bool edges, std::int64_t step) const;

  // Moves the last of the batch's points to random places between the samples, and their levels with them.
  void move_between(const Batch& batch, const Tensor& indices, std::int64_t step) const;

  // Writes the coordinates of the pixels' samples to `to`; `jitter` moves each sample at random within its
  // pixel.
  void place(const Tensor& indices, std::int64_t samples, bool jitter, std::int64_t step, float* to) const;

  Signal signal_;
  FieldOptions options_;
  std::uint64_t seed_;
  CoordinateMap map_;
  double edge_share_ = 1, between_share_ = 0;
  std::optional<Mask> mask_;  // of the edges
  std::optional<data::BatchSampler> edges_, flats_;
};

}  // namespace veldt::field
