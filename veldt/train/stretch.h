// The time since a fit's last evaluation, and how much of it was spent waiting for data.
// Tests: tests/train/trainer_test.cpp
#pragma once

#include <chrono>

#include "veldt/train/batch_source.h"

namespace veldt::train {

class Stretch {
 public:
  explicit Stretch(const BatchSource& source) : source_(source) { begin(); }

  void begin() {
    since_ = Clock::now();
    waited_before_ = source_.waited();
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - since_).count(); }
  double waited() const { return source_.waited() - waited_before_; }
  double share_waited() const { return seconds() > 0 ? waited() / seconds() : 0; }

 private:
  using Clock = std::chrono::steady_clock;
  const BatchSource& source_;
  Clock::time_point since_;
  double waited_before_ = 0;
};

}  // namespace veldt::train
