// Moves batches to the device, or writes them into the tensors that a recorded step reads.
#include "veldt/train/batch_slots.h"

#include <utility>

#include "veldt/core/error.h"
#include "veldt/data/finite.h"
#include "veldt/ops/arrange.h"
#include "veldt/tensor/graph.h"
#include "veldt/train/copies.h"

namespace veldt::train {
namespace {

std::string shapes_of(const data::Batch& batch) {
  std::string text;
  for (const Tensor& t : batch) text += str(text.empty() ? "" : ", ", t.dtype(), ' ', t.shape());
  return text;
}

bool is_like(const data::Batch& a, const data::Batch& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].shape() != b[i].shape() || a[i].dtype() != b[i].dtype()) return false;
  return true;
}

}  // namespace

void BatchSlots::take(data::Loader& loader, std::int64_t first, std::int64_t count) {
  batches_.resize(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    take(loader.batch(first + i), batches_[static_cast<std::size_t>(i)]);
}

void BatchSlots::take(data::Batch batch, data::Batch& into) const {
  if (!same_ || into.empty()) {
    into = data::moved(std::move(batch), device_);
    // A tensor that is overwritten must not be the data set's own.
    if (same_)
      for (Tensor& t : into) t = copy_of(t);
    return;
  }
  if (!is_like(batch, into))
    throw ConfigError(str("a batch has ", shapes_of(batch), " after one of ", shapes_of(into)),
                      "a recorded step needs batches of one shape", "set FitOptions::record to false");
  for (std::size_t i = 0; i < into.size(); ++i) into[i].assign(batch[i]);
}

std::string BatchSlots::first_not_finite() const {
  for (const data::Batch& batch : batches_)
    for (std::size_t k = 0; k < batch.size(); ++k)
      if (const std::string found = data::first_not_finite(batch[k]); !found.empty())
        return str("tensor ", k, " of the batch has ", found);
  return {};
}

}  // namespace veldt::train
