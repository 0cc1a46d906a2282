// Batch norms that see the batches of all ranks, as torch.nn.SyncBatchNorm.
//   dist::DataParallel parallel(ranks, adam);
//   const dist::SyncBatchNorm synced(net, ranks);
// Tests: tests/dist/sync_batch_norm_test.cpp, tests/train/ranks_test.cpp
#pragma once

#include <memory>
#include <vector>

#include "veldt/dist/communicator.h"
#include "veldt/nn/norm.h"

namespace veldt::dist {

// While it exists, all batch norms in a network normalise by the mean and variance of all ranks' examples in
// training, each weighed alike, and keep running statistics of them. Gradients are right for a loss that is
// the sum of all ranks' losses (or, by DataParallel, their mean). Each norm's forward and backward wait for
// the other ranks, which must call them in the same order, also with a batch of no examples. Evaluation, the
// state and frozen norms stay as they are.
class SyncBatchNorm {
 public:
  // Keeps references to the communicator and the network's modules.
  SyncBatchNorm(const nn::Module& net, Communicator& ranks);
  ~SyncBatchNorm();
  SyncBatchNorm(const SyncBatchNorm&) = delete;
  SyncBatchNorm& operator=(const SyncBatchNorm&) = delete;

  // Whether this rank's next examples count. Others are normalised as those that do: where a rank has none,
  // it may pass any, with a loss of 0.
  void set_counts(bool on);

 private:
  std::vector<nn::ChannelNorm*> norms_;
  std::shared_ptr<BatchParts> parts_;
};

}  // namespace veldt::dist
