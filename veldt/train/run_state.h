// The position of a run, over all resumptions.
// Tests: tests/train/loop_test.cpp
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace veldt::train {

struct RunState {
  using Clock = std::chrono::steady_clock;

  std::int64_t step = 0;      // steps done
  double loss = 0, rate = 0;  // of the last
  double seconds_before = 0;  // of the runs that this one continues
  Clock::time_point start = Clock::now();
  // Of several ranks: seconds() of rank 0 after the last step, by which all of them set the rate.
  std::optional<double> agreed_seconds = {};

  double seconds_here() const { return std::chrono::duration<double>(Clock::now() - start).count(); }
  double seconds() const { return seconds_before + seconds_here(); }
};

}  // namespace veldt::train
