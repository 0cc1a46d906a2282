// The state of an optimizer: for each kind, such as "exp_avg", a number for each one of the slab; or those of
// this process' ranges, where processes share it out.
// Tests: tests/optim/optimizer_test.cpp, tests/dist/optimizer_share_test.cpp
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veldt/optim/slab.h"
#include "veldt/optim/state_sharing.h"

namespace veldt::optim {

class StateSlabs {
 public:
  explicit StateSlabs(std::vector<std::string> kinds) : kinds_(std::move(kinds)) {}

  const std::vector<std::string>& kinds() const { return kinds_; }
  std::size_t number_of(std::string_view kind) const;

  // Memory is taken when one of these is first called, by the optimizer's first step or, on a device, as it
  // is made: there a state is whole until it is shared out. Each throws Error if the state is lost; whole()
  // if it is shared out, and part() for numbers of another process.
  const Tensor& whole(const Slab& slab, std::size_t kind) const;
  Tensor part(const Slab& slab, std::size_t kind, Slab::Range range) const;
  View view(const Slab& slab, std::size_t kind, Slab::Range range) const;
  void make(const Slab& slab) const;

  const StateSharing* sharing() const { return sharing_.get(); }
  // The parts of `range` that this process keeps.
  void add_own(Slab::Range range, std::vector<Slab::Range>& into) const;
  // See Optimizer.
  void share(const Slab& slab, std::shared_ptr<const StateSharing> sharing);
  void end_sharing(bool gathers);
  // Of each kind the whole slab: on process 0 where it is shared out, and nothing elsewhere.
  std::vector<Tensor> collected(const Slab& slab) const;
  // Takes parameter i's state from `given`, of its shape.
  void load(const Slab& slab, std::size_t kind, std::size_t i, const Tensor& given);
  // Afterwards there is a state, if it was lost: zeros.
  void forget();

 private:
  Slab::Range place(Slab::Range range) const;

  std::vector<std::string> kinds_;
  mutable std::vector<Tensor> slabs_;  // by kind: [size], or [numbers of own()]; none yet
  std::shared_ptr<const StateSharing> sharing_;
  bool lost_ = false;
};

}  // namespace veldt::optim
