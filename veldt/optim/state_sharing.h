// How processes share out the state of an optimizer: the first stage of ZeRO (Rajbhandari et al. 2020,
// "ZeRO: memory optimizations toward training trillion parameter models"). Each keeps the state of its own
// ranges of the slab, takes the step there, and then gets the parameters that the others have changed.
// Tests: tests/dist/optimizer_share_test.cpp
#pragma once

#include <vector>

#include "veldt/optim/slab.h"

namespace veldt::optim {

// What an optimizer asks of who connects the processes: dist::OptimizerShare. All processes call the
// functions that pass something on, in one order.
class StateSharing {
 public:
  virtual ~StateSharing() = default;
  // This process' ranges, from left to right. Each number of the slab is in a range of one process.
  virtual const std::vector<Slab::Range>& own() const = 0;
  // Every process gets the ranges of a slab that the others have. Slabs are [size], as Slab::values().
  virtual void gather(const Tensor& slab) const = 0;
  // `part` has the numbers of own() side by side. Their slab, on process 0; elsewhere undefined.
  virtual Tensor collect(const Tensor& part) const = 0;
  // The reverse, for the slab of process 0, which alone reads it; undefined everywhere if that is. `like` has
  // its dtype and device.
  virtual Tensor deal(const Tensor& slab, const Tensor& like) const = 0;
  // t becomes that of process 0.
  virtual void broadcast(const Tensor& t) const = 0;
};

}  // namespace veldt::optim
