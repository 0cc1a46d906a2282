// The batches of a fit, on the network's device. They are drawn on the host; for a GPU that runs ahead, those
// of the next steps are already uploaded.
// Tests: tests/field/ahead_test.cpp, tests/field/device_test.cpp, tests/field/ranks_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/core/device.h"
#include "veldt/field/sampling.h"

namespace veldt::field {

class Batches {
 public:
  // Of each batch these parts, which are computed one by one.
  Batches(const PointSampler& sampler, Device device, const data::Parts& parts = {});

  // Limits of the batches prepared besides the current one: steps, and bytes of all of them.
  static constexpr std::int64_t kMostSteps = 64, kMostBytes = std::int64_t{64} << 20;

  // How many steps can be prepared at a time.
  std::int64_t ahead() const;
  // Draws the batches of `steps` steps, from `step` on.
  void prepare(std::int64_t step, std::int64_t steps);
  // Begins a step, which may be recorded: current() is then the next prepared batch, always in the same
  // tensors.
  void next();
  // One of the parts, counted from 0.
  const Batch& current(std::size_t part = 0) const { return parts_[part].current; }
  std::size_t count() const { return parts_.size(); }

 private:
  struct Part {
    Batch current;
    // each of its tensors as [ahead, ..]; undefined if one batch is prepared at a time.
    Tensor ring_coordinates, ring_levels;
  };
  bool runs_ahead() const { return parts_.front().ring_coordinates.defined(); }

  const PointSampler& sampler_;
  const Device device_;
  const data::Parts which_;
  std::vector<Part> parts_;
  std::int64_t next_row_ = 0;
};

}  // namespace veldt::field
