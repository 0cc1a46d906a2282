// An optimizer's state shared out over ranks: each keeps that of the numbers whose gradients it adds up, so
// that gradients need not be sent back, and parameters are instead: as many bytes (Rajbhandari et al. 2020).
// Only for files of dist/; DataParallel and train::Trainer share out by choice.
// Tests: tests/dist/optimizer_share_test.cpp
#pragma once

#include <vector>

#include "veldt/dist/communicator.h"
#include "veldt/optim/state_sharing.h"

namespace veldt::dist {

class OptimizerShare final : public optim::StateSharing {
 public:
  // Keeps a reference. `pieces` of the slab are added up one by one: a rank's ranges are its
  // share_of_numbers() of each.
  OptimizerShare(Communicator& ranks, std::vector<optim::Slab::Range> pieces);

  const std::vector<optim::Slab::Range>& own() const override { return own_; }
  void gather(const Tensor& slab) const override;
  Tensor collect(const Tensor& part) const override;
  Tensor deal(const Tensor& slab, const Tensor& like) const override;
  void broadcast(const Tensor& t) const override { ranks_.broadcast(t); }

 private:
  std::vector<optim::Slab::Range> ranges_of(int rank) const;
  std::vector<Communicator::Message> of_others(const Tensor& slab) const;

  Communicator& ranks_;
  std::vector<optim::Slab::Range> pieces_, own_;  // from left to right
  std::int64_t size_ = 0;                         // of the slab
};

}  // namespace veldt::dist
