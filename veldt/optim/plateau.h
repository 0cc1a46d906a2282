// A rate that falls when a measure stops improving. It depends on the run, so it is not a Schedule and has a
// state to save.
//   optim::Plateau plateau({.lr = 1e-3});
//   adam.set_lr(plateau.update(validation_loss));  // once an epoch
// Tests: tests/optim/golden_test.cpp
#pragma once

#include <cstdint>

#include "veldt/tensor/named.h"

namespace veldt::optim {

struct PlateauOptions {
  double lr = 1e-3;
  double factor = 0.1;         // what the rate is multiplied by
  std::int64_t patience = 10;  // how many updates without a better measure are tolerated
  std::int64_t cooldown = 0;   // updates after a reduction that are not counted
  double threshold = 1e-4;     // the minimum improvement
  bool relative = true;        // the threshold is a share of the best measure, else a difference
  bool larger_is_better = false;
  double lr_min = 0;
};

// As torch.optim.lr_scheduler.ReduceLROnPlateau.
class Plateau {
 public:
  // Throws ConfigError for a factor outside (0, 1), or a negative option.
  explicit Plateau(PlateauOptions options = {});

  // Takes the newest measure, and returns the rate from now on. A NaN is not better.
  double update(double measure);
  double lr() const { return lr_; }

  // "plateau" (f64 [5]).
  NamedTensors state_dict() const;
  // Throws Error if it does not fit; then nothing changed.
  void load_state_dict(const NamedTensors& state);

 private:
  bool is_better(double measure) const;

  PlateauOptions options_;
  double lr_, best_ = 0;
  bool has_best_ = false;
  std::int64_t bad_ = 0, cooling_ = 0;
};

}  // namespace veldt::optim
