// Where a field is wrong, learned from the batches that it is trained on, and batches drawn by it: more
// points where the error is larger (importance sampling; Katharopoulos & Fleuret 2018, "Not all samples are
// created equal", arXiv:1803.00942). The signal is cut into tiles of neighbours, and each keeps a running
// mean of the squared errors of its points. One that no batch has seen yet counts as the mean of the others.
// Tests: tests/field/error_map_test.cpp
#pragma once

#include <algorithm>
#include <cstdint>

#include "veldt/tensor/tensor.h"

namespace veldt::field {

class ErrorMap {
 public:
  // The points of a tile: so many that a tile is seen about once in eight steps, and 64 or more.
  static std::int64_t tile_for(std::int64_t points, std::int64_t batch);

  // For `points` points, in an order in which neighbours are near each other.
  ErrorMap(std::int64_t points, std::int64_t batch, std::uint64_t seed);

  struct Draw {
    Tensor points;   // i64 [batch], in order
    Tensor weights;  // f32 [batch]: 1 / (probability of the point times points); the mean of errors times
                     // weights is, on average, the mean over all points
  };
  // One point from each of `batch` runs of equal probability. A function of the step and of what was noted:
  // nothing is kept beside errors(), so a resumed run draws the same bits.
  Draw draw(std::int64_t step) const;
  // The squared errors, f32 [batch], that were seen at points, i64 [batch].
  void note(const Tensor& points, const Tensor& errors);

  std::int64_t batch() const { return batch_; }
  // The means, f32 [tiles], -1 for what is not seen yet: all that a map learns. Not a copy.
  Tensor errors() { return errors_; }
  // Goes on from errors() of another map of the same sizes. Throws IoError (corrupt) where one is neither -1
  // nor a finite number of 0 or more.
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
