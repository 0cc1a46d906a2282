// Tracks where a field's errors are, from its training batches, and draws batches by them: more points where
// the error is larger (importance sampling; Katharopoulos & Fleuret 2018, "Not all samples are created
// equal", arXiv:1803.00942). The signal is divided into tiles of neighbours, each with a running mean of the
// squared errors of its points. A tile that no batch has visited yet counts as the mean of the others.
// Tests: tests/field/error_map_test.cpp
#pragma once

#include <algorithm>
#include <cstdint>

#include "veldt/tensor/tensor.h"

namespace veldt::field {

class ErrorMap {
 public:
  // The points of a tile: so many that a tile is visited about once in eight steps, and at least 64.
  static std::int64_t tile_for(std::int64_t points, std::int64_t batch);

  // For `points` points, in an order that keeps neighbours together.
  ErrorMap(std::int64_t points, std::int64_t batch, std::uint64_t seed);

  struct Draw {
    Tensor points;   // i64 [batch], in order
    Tensor weights;  // f32 [batch]: 1 / (probability of the point times points); the mean of errors times
                     // weights is, on average, the mean over all points
  };
  // One point from each of `batch` runs of equal probability. A function of the step and of the noted errors:
  // errors() is the only state, so a resumed run draws the same bits.
  Draw draw(std::int64_t step) const;
  // The squared errors, f32 [batch], that were seen at points, i64 [batch].
  void note(const Tensor& points, const Tensor& errors);

  std::int64_t batch() const { return batch_; }
  // The means, f32 [tiles], -1 for tiles not visited yet: the whole state of a map. Not a copy.
  Tensor errors() { return errors_; }
  // Restores errors() of another map of the same sizes. Throws IoError (corrupt) unless each is -1 or a
  // finite number of 0 or more.
  void load(const Tensor& errors);

 private:
  std::int64_t size_of(std::int64_t tile) const { return std::min(tile_, points_ - tile * tile_); }
  Tensor densities() const;
  Tensor ends(const Tensor& densities) const;

  std::int64_t points_, batch_, tile_;
  std::uint64_t seed_;
  Tensor errors_;
};

}  // namespace veldt::field
