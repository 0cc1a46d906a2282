// The moving averages of all the optimizers of a Trainer, as one.
// Tests: tests/train/players_test.cpp, tests/train/trainer_test.cpp
#pragma once

#include <cstdint>
#include <deque>

#include "veldt/optim/ema.h"

namespace veldt::train {

class Averages {
 public:
  void add(const optim::Optimizer& optimizer, double decay) {
    all_.emplace_back(optimizer, optim::EmaOptions{.decay = decay});
  }
  bool any() const { return !all_.empty(); }
  std::int64_t updates() const { return any() ? all_.front().updates() : 0; }
  optim::Ema& operator[](std::size_t i) { return all_[i]; }
  const optim::Ema& operator[](std::size_t i) const { return all_[i]; }

  void update() {
    for (optim::Ema& one : all_) one.update();
  }
  void copy_to_parameters() {
    for (optim::Ema& one : all_) one.copy_to_parameters();
  }
  void restart() {
    for (optim::Ema& one : all_) one.restart();
  }

  // Parameters and averages are swapped while it exists.
  class Swapped {
   public:
    explicit Swapped(Averages& averages) {
      for (optim::Ema& one : averages.all_) swapped_.emplace_back(one);
    }

   private:
    std::deque<optim::Ema::Swapped> swapped_;
  };

 private:
  std::deque<optim::Ema> all_;  // which cannot be moved
};

}  // namespace veldt::train
