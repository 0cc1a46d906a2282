// The time since a fit's last evaluation, and how much of it was spent waiting for data.
// Tests: tests/train/trainer_test.cpp
#pragma once

#include <chrono>

#include "veldt/data/loader.h"

namespace veldt::train {

class Stretch {
 public:
  explicit Stretch(const data::Loader& loader) : loader_(loader) { begin(); }

  void begin() {
    since_ = Clock::now();
    waited_before_ = loader_.waited();
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - since_).count(); }
  double waited() const { return loader_.waited() - waited_before_; }

 private:
  using Clock = std::chrono::steady_clock;
  const data::Loader& loader_;
  Clock::time_point since_;
  double waited_before_ = 0;
};

}  // namespace veldt::train
