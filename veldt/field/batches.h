// The batches of a fit, where the network computes. They are drawn on the host; a GPU that runs ahead finds
// those of the next steps ready beside it.
// Tests: tests/field/ahead_test.cpp, tests/field/device_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/device.h"
#include "veldt/field/sampling.h"

namespace veldt::field {

class Batches {
 public:
  Batches(const PointSampler& sampler, Device device);

  // The most that lies ready beside the current batch: steps, and the bytes of all of them.
  static constexpr std::int64_t kMostSteps = 64, kMostBytes = std::int64_t{64} << 20;

  // How many steps can be prepared at a time.
  std::int64_t ahead() const;
  // Draws the batches of `steps` steps, from `step` on.
  void prepare(std::int64_t step, std::int64_t steps);
  // Begins a step, which may be recorded: current() is then the batch of the next step that was prepared. Its
  // tensors stay the same ones.
  void next();
  const Batch& current() const { return current_; }

 private:
  bool runs_ahead() const { return ring_coordinates_.defined(); }

  const PointSampler& sampler_;
  const Device device_;
  Batch current_;
  // [ahead, ..] each of its tensors; undefined where one batch lies ready at a time.
  Tensor ring_coordinates_, ring_levels_;
  std::int64_t next_row_ = 0;
};

}  // namespace veldt::field
