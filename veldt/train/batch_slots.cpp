// Moves batches to the device, or writes them into the tensors that a recorded step reads.
#include "veldt/train/batch_slots.h"

#include <algorithm>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/data/finite.h"
#include "veldt/ops/arrange.h"
#include "veldt/tensor/graph.h"
#include "veldt/train/copies.h"

namespace veldt::train {
namespace {

bool is_like(const data::Batch& a, const data::Batch& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].shape() != b[i].shape() || a[i].dtype() != b[i].dtype()) return false;
  return true;
}

}  // namespace

void BatchSlots::take(BatchSource& source, std::int64_t step, std::int64_t count) {
  const std::int64_t first = step * count;
  std::vector<data::Batch> batches(static_cast<std::size_t>(count));
  bool whole = true;
  shares_.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    data::Batch& batch = batches[static_cast<std::size_t>(i)];
    batch = source.batch(first + i);
    whole = whole && source.is_whole(first + i);
    shares_.push_back(source.share(first + i));
    if (!adapt_ || batch.empty()) continue;
    adapt_->change(step, batch);
    if (batch.empty())
      throw ConfigError(str("FitOptions::adapt left nothing of a batch of step ", step),
                        "there is nothing to learn from", "leave its tensors, changed");
  }
  same_ = keep_ && whole && (kept_.empty() || fit(batches));
  if (same_ && !kept_.empty()) {
    for (std::size_t i = 0; i < batches.size(); ++i)
      for (std::size_t k = 0; k < batches[i].size(); ++k) kept_[i][k].assign(batches[i][k]);
    return;
  }
  for (data::Batch& batch : batches) batch = data::moved(std::move(batch), device_);
  if (!same_) {
    others_ = std::move(batches);
    return;
  }
  // Tensors that are overwritten must not be the data set's own.
  for (data::Batch& batch : batches)
    for (Tensor& t : batch) t = copy_of(t);
  kept_ = std::move(batches);
}

bool BatchSlots::fit(const std::vector<data::Batch>& batches) const {
  return std::equal(batches.begin(), batches.end(), kept_.begin(), kept_.end(), is_like);
}

std::string BatchSlots::first_not_finite() const {
  for (const data::Batch& batch : batches())
    for (std::size_t k = 0; k < batch.size(); ++k)
      if (const std::string found = data::first_not_finite(batch[k]); !found.empty())
        return str("tensor ", k, " of the batch has ", found);
  return {};
}

}  // namespace veldt::train
