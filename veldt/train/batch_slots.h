// The batches of a step: on the device, and in the same tensors each time if the step is to be recorded.
// Tests: tests/train/trainer_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "veldt/train/adaptation.h"
#include "veldt/train/batch_source.h"

namespace veldt::train {

class BatchSlots {
 public:
  // `keep`: whole batches of one shape are written into the same tensors each time.
  BatchSlots(Device device, bool keep) : device_(device), keep_(keep) {}

  // Loads that many batches, from `first` on, for a step, and changes them as that is to.
  void take(BatchSource& source, std::int64_t first, std::int64_t count,
            const std::optional<Adaptation>& adapt, std::int64_t step);
  const std::vector<data::Batch>& batches() const { return same_ ? kept_ : others_; }
  // Whether the last batches taken are in the tensors that are kept; the last of an epoch may be shorter.
  bool same() const { return same_; }
  // "tensor 0 of the batch has nan ..", or empty.
  std::string first_not_finite() const;

 private:
  bool fit(const std::vector<data::Batch>& batches) const;

  Device device_;
  bool keep_, same_ = false;
  std::vector<data::Batch> kept_, others_;
};

}  // namespace veldt::train
