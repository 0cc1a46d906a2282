// Takes the steps of a run: one by one, or as many as a device can take by itself.
// Tests: tests/train/loop_test.cpp, tests/field/ahead_test.cpp, tests/field/device_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "veldt/tensor/plan.h"
#include "veldt/train/events.h"
#include "veldt/train/loop.h"
#include "veldt/train/run_state.h"

namespace veldt::train {

class Stepper {
 public:
  // Keeps references; `at` is the run's position, which is updated. `diverged` is called for a loss that is
  // not finite, and throws.
  Stepper(Task& task, const RunOptions& options, const Events& events, RunState& at,
          std::function<void()> diverged)
      : task_(task), options_(options), events_(events), at_(at), diverged_(std::move(diverged)) {}

  // Takes one step, or as many as the device may take by itself. True if a stop was requested.
  bool take();

 private:
  bool one();
  bool on_device();
  void set_rate(std::int64_t step, double later);
  std::int64_t count_ahead(std::int64_t step) const;
  bool tell_of_step() const;

  Task& task_;
  const RunOptions& options_;
  const Events& events_;
  RunState& at_;
  std::function<void()> diverged_;
  std::optional<Plan> plan_;
  std::int64_t prepared_ = 0;  // steps whose data are ready
  std::int64_t next_ = 0;      // the step whose rate is set next
  double seconds_a_step_ = 0;  // of a device; 0: not known yet
};

}  // namespace veldt::train
