// Gives each batch norm a sum over the ranks.
#include "veldt/dist/sync_batch_norm.h"

#include "veldt/dist/exchange.h"
#include "veldt/ops/parts.h"

namespace veldt::dist {

SyncBatchNorm::SyncBatchNorm(const nn::Module& net, Communicator& ranks)
    : parts_(std::make_shared<BatchParts>()) {
  if (ranks.alone()) return;
  // A part of each rank's loss comes from the sum, so its gradient is that of all losses.
  parts_->sum = [&ranks](const Tensor& t) { return copy_to_ranks(sum_of_ranks(t, ranks), ranks); };
  for (const nn::NamedModule& inner : net.named_modules())
    if (auto* const norm = dynamic_cast<nn::ChannelNorm*>(inner.module)) {
      norm->share_batch(parts_);
      norms_.push_back(norm);
    }
}

SyncBatchNorm::~SyncBatchNorm() {
  parts_->sum = {};  // for copies of the modules
  for (nn::ChannelNorm* const norm : norms_) norm->share_batch(nullptr);
}

void SyncBatchNorm::set_counts(bool on) { parts_->counts = on; }

}  // namespace veldt::dist
