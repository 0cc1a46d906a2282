// What goes along with a fit and changes the network after its steps.
// Tests: tests/compress/pruner_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "veldt/tensor/named.h"

namespace veldt::train {

// A fit calls it; what it does has to be a function of the network, its own state and the step, so that a
// resumed run has the bits of one that was never stopped. It outlives the fit.
class Follower {
 public:
  virtual ~Follower() = default;
  // Before the first step of a run, new or resumed: `step` are done. What was resumed is loaded by then.
  virtual void begin(std::int64_t step) = 0;
  // After the optimizer's step; `step` are done. The gradients are still those of this step.
  virtual void stepped(std::int64_t step) = 0;
  // After the weights of the best evaluation have been restored.
  virtual void finish() {}
  // Whether an evaluation after so many steps may be the best of the run: those of a network that is still to
  // be changed may not.
  virtual bool settled(std::int64_t /*step*/) const { return true; }
  // Whether stepped() reads gradients, which have to be of the loss itself, and whole on each process.
  virtual bool wants_gradients() const { return false; }
  // Tensors of its own, which checkpoints hold. On resumption what they held is copied into these.
  virtual NamedTensors state() { return {}; }
  // What it does: a run is only resumed with the same.
  virtual std::string text() const = 0;
};

}  // namespace veldt::train
