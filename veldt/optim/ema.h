// An exponential moving average of an optimizer's parameters, which often predicts better than they do
// (Polyak & Juditsky 1992; as torch.optim.swa_utils does with get_ema_multi_avg_fn).
//   optim::Ema ema(adam, {.decay = 0.999});
//   adam.step(); ema.update();                                   // every step
//   { const optim::Ema::Swapped averaged(ema); evaluate(model); }  // the model predicts with the average
// Tests: tests/optim/ema_test.cpp, tests/optim/plan_test.cpp
#pragma once

#include "veldt/optim/optimizer.h"

namespace veldt::optim {

struct EmaOptions {
  double decay = 0.999;
  // Begins with smaller decays, min(decay, (1 + t) / (10 + t)) at update t = 0, 1, ..: the first values soon
  // lose their influence.
  bool warm_up = true;
};

class Ema {
 public:
  // The average starts as the optimizer's parameters. Throws ConfigError for a decay outside [0, 1).
  explicit Ema(const Optimizer& optimizer, EmaOptions options = {});
  Ema(const Ema&) = delete;
  Ema& operator=(const Ema&) = delete;

  // average = d average + (1 - d) parameters, in one pass. Throws Error while swapped.
  void update();
  // The decay of the next update.
  double decay() const;
  std::int64_t updates() const { return updates_; }

  // Exchanges parameters and average; call it again to undo that. Optimizer::step() in between would train
  // the average.
  void swap();
  // Sets the parameters to the average's values permanently.
  void copy_to_parameters();
  // Restarts with the parameters' current values.
  void restart();

  // Swaps while it exists.
  class Swapped {
   public:
    explicit Swapped(Ema& ema) : ema_(ema) { ema_.swap(); }
    ~Swapped() { ema_.swap(); }
    Swapped(const Swapped&) = delete;
    Swapped& operator=(const Swapped&) = delete;

   private:
    Ema& ema_;
  };

  // "updates" (i64) and "average.0.weight" for each parameter, sharing memory. Throws Error while swapped.
  NamedTensors state_dict() const;
  // Copies a state_dict() back. Throws Error if it does not fit; then nothing changed.
  void load_state_dict(const NamedTensors& state);

 private:
  void need_not_swapped(const char* what) const;

  EmaOptions options_;
  Slab slab_;  // shares the optimizer's memory
  Tensor average_;
  std::int64_t updates_ = 0;
  bool swapped_ = false;
};

}  // namespace veldt::optim
