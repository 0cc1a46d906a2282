// A step of several ranks: which parts of its batches this one computes, and how gradients, losses and the
// statistics of batch norms become those of all.
//
// A batch has a part for each rank. Or it has a given number of parts, whatever the number of ranks is: each
// is computed by itself and is a leaf of the sum's tree, so that a step has the same bits on any number of
// ranks, and on one.
// Tests: tests/train/ranks_test.cpp
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "veldt/data/loader.h"
#include "veldt/dist/communicator.h"
#include "veldt/dist/gradient_sum.h"
#include "veldt/dist/sync_batch_norm.h"
#include "veldt/nn/module.h"
#include "veldt/tensor/tensor.h"
#include "veldt/train/players.h"

namespace veldt::train {

struct TogetherOptions {
  std::int64_t batches = 1;  // of a step
  std::int64_t parts = 0;    // of a batch; 0: one for each rank
  // See FitOptions.
  bool halves = false, share_optimizer = false, sync_batch_norm = false;
};

class Together {
 public:
  // Keeps references. `ranks`: null if there is one process. Throws ConfigError for fewer parts than ranks.
  Together(dist::Communicator* ranks, const nn::Module& model, const Players& players,
           TogetherOptions options = {});

  // Those given, or one alone.
  dist::Communicator& ranks() const { return ranks_; }
  const data::Parts& parts() const { return parts_; }
  // Whether a step can be recorded in a Plan.
  bool may_repeat() const { return !computes_leaves() && running_.empty() && on_host_; }

  // If the options ask for it and there are several ranks: each keeps a part of the optimizer's state alone;
  // see dist::GradientSum. Throws ConfigError for several players. unshare_optimizer() gives the state back
  // to rank 0.
  bool share_optimizer();
  void unshare_optimizer() { sums_.front().unshare_optimizer(); }

  // Before a step. `shares`: of each part in its whole batch.
  void begin(std::int64_t step, std::vector<double> shares);
  // Computes and adds up the gradients of a turn. `backward` is called with the number of a part, in the
  // order of batches, and its share in the step; it returns the detached loss, or nothing where the part has
  // no examples. With batch norms over all ranks such a part has an example, and a share of 0. Gives the loss
  // of the step.
  Tensor gradients(std::size_t turn, const std::function<Tensor(std::size_t part, double share)>& backward);
  // Of all ranks, empty if none has one: "rank 1 on n3 (process 4711): tensor 0 of the batch has nan"; else
  // those whose own loss of the last step is not finite, if not all are such.
  std::string first_bad(const std::string& own) const;
  // Every rank gets the module's state of rank 0.
  void share_model(const nn::Module& model) const;

 private:
  dist::Leaves own_leaves() const { return {parts_.first, parts_.end}; }
  // Whether parts are put aside one by one; else there is one for each rank.
  bool computes_leaves() const { return parts_.of != ranks_.size(); }
  template <class Visit> void for_each_sum(std::size_t turn, const Visit& visit) {
    for (std::size_t i = 0; i < sums_.size(); ++i)
      if (!players_.in_turn() || i == turn) visit(sums_[i]);
  }
  Tensor loss_of_part(std::size_t turn, std::int64_t part,
                      const std::function<Tensor(std::size_t, double)>& backward, double& share);
  void seek_streams(std::int64_t place) const;
  void share_running(const std::vector<Tensor>& before, const dist::NodeSums& changes);
  Tensor loss_of_all(std::size_t turn, const Tensor& own, const dist::NodeSums& sums);

  dist::Communicator alone_;
  dist::Communicator& ranks_;
  const Players& players_;
  TogetherOptions options_;
  data::Parts parts_;
  bool on_host_ = true;
  std::deque<dist::GradientSum> sums_;  // of each player
  std::vector<Tensor> streams_;         // of dropout and its like
  std::vector<Tensor> running_;         // of batch norms: statistics, and numbers of batches
  std::vector<Tensor> totals_;          // the loss of each turn
  std::optional<dist::SyncBatchNorm> synced_;
  std::int64_t step_ = 0;
  std::vector<double> shares_;
  double own_loss_ = 0;
};

}  // namespace veldt::train
