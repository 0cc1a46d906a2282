// The batches of a step: on the device, and in the same tensors each time if the step was recorded.
// Tests: tests/train/trainer_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/data/loader.h"

namespace veldt::train {

class BatchSlots {
 public:
  // `same`: all batches are of one shape, and are written into tensors of their own.
  BatchSlots(Device device, bool same) : device_(device), same_(same) {}

  // Loads that many batches, from `first` on. Throws ConfigError if one has an unexpected shape.
  void take(data::Loader& loader, std::int64_t first, std::int64_t count);
  const std::vector<data::Batch>& batches() const { return batches_; }
  // "tensor 0 of the batch has nan ..", or empty.
  std::string first_not_finite() const;

 private:
  void take(data::Batch batch, data::Batch& into) const;

  Device device_;
  bool same_;
  std::vector<data::Batch> batches_;
};

}  // namespace veldt::train
