// The batches of a fit, on the network's device. They are drawn on the host; for a GPU that runs ahead, those
// of the next steps are already uploaded.
// Tests: tests/field/ahead_test.cpp, tests/field/device_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/device.h"
#include "veldt/field/sampling.h"

namespace veldt::field {

class Batches {
 public:
  Batches(const PointSampler& sampler, Device device);

  // Limits of the batches prepared besides the current one: steps, and bytes of all of them.
  static constexpr std::int64_t kMostSteps = 64, kMostBytes = std::int64_t{64} << 20;

  // How many steps can be prepared at a time.
  std::int64_t ahead() const;
  // Draws the batches of `steps` steps, from `step` on.
  void prepare(std::int64_t step, std::int64_t steps);
  // Begins a step, which may be recorded: current() is then the next prepared batch, always in the same
  // tensors.
  void next();
  const Batch& current() const { return current_; }

 private:
  bool runs_ahead() const { return ring_coordinates_.defined(); }

  const PointSampler& sampler_;
  const Device device_;
  Batch current_;
  // each of its tensors as [ahead, ..]; undefined if one batch is prepared at a time.
  Tensor ring_coordinates_, ring_levels_;
  std::int64_t next_row_ = 0;
};

}  // namespace veldt::field
