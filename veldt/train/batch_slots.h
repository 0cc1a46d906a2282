// The batches of a step: on the device, and in the same tensors each time if the step is to be recorded.
// Tests: tests/train/trainer_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veldt/train/adaptation.h"
#include "veldt/train/batch_source.h"

namespace veldt::train {

class BatchSlots {
 public:
  // `keep`: whole batches of one shape are written into the same tensors each time.
  BatchSlots(Device device, bool keep, std::optional<Adaptation> adapt)
      : device_(device), keep_(keep), adapt_(std::move(adapt)) {}

  // Loads the batches of a step, `count` of them, and changes them as it is to.
  void take(BatchSource& source, std::int64_t step, std::int64_t count);
  const std::vector<data::Batch>& batches() const { return same_ ? kept_ : others_; }
  // The share of each in the examples of its whole batch.
  const std::vector<double>& shares() const { return shares_; }
  // Whether the last batches taken are in the tensors that are kept; the last of an epoch may be shorter.
  bool same() const { return same_; }
  // "tensor 0 of the batch has nan ..", or empty.
  std::string first_not_finite() const;

 private:
  bool fit(const std::vector<data::Batch>& batches) const;

  Device device_;
  bool keep_, same_ = false;
  std::optional<Adaptation> adapt_;
  std::vector<data::Batch> kept_, others_;
  std::vector<double> shares_;
};

}  // namespace veldt::train
