// Which points a training step looks at.
//
// Line art is nearly all paper, so uniform batches learn paper. Its pixels fall into two pools: those with a
// neighbour of another level (edges), and the rest (flat). Edges get the larger share of a batch and are
// compared through the camera's box filter, footprint x footprint samples a pixel. A flat pixel has one level
// all over, so its sample may lie anywhere within it: that keeps the field from rippling between pixel
// centres.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "veldt/data/sampler.h"
#include "veldt/field/coordinates.h"
#include "veldt/field/plan.h"
#include "veldt/tensor/tensor.h"

namespace veldt::field {

struct Batch {
  Tensor coordinates;                 // [edges * footprint^2 + flats, inputs], the edges' samples first
  Tensor levels;                      // [edges + flats, channels]
  std::int64_t edges = 0, flats = 0;  // pixels
};

class PixelSampler {
 public:
  // `levels`: [height * width, channels].
  PixelSampler(const Tensor& levels, const FitPlan& plan);

  // A pure function of the step. When a batch holds the whole picture, every step gives the same one.
  Batch batch(std::int64_t step) const;
  bool whole_picture() const;
  // The share of all pixels that are edges (1 when the picture is not split).
  double edge_share() const { return edge_share_; }

 private:
  struct Pool {
    std::vector<std::int64_t> pixels;  // empty: all of them, in order
    data::BatchSampler order;
    Tensor indices(std::int64_t step) const;
  };

  // Writes the coordinates of the pixels' samples to `to`; `jitter` moves each sample at random within its
  // pixel.
  void place(const Tensor& indices, std::int64_t samples, bool jitter, std::int64_t step, float* to) const;

  Tensor levels_;
  FieldOptions options_;
  std::uint64_t seed_;
  CoordinateMap map_;
  double edge_share_ = 1;
  std::optional<Pool> edges_, flats_;
};

}  // namespace veldt::field
