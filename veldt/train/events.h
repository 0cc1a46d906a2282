// News of a training run, as plain structs to a callback. The command's progress line, a log, a live page:
// listeners.
// Tests: tests/train/loop_test.cpp, tests/train/trainer_test.cpp
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace veldt::train {

// How good a model is, the more the better: {"PSNR", 31.24, "dB"}, or {"accuracy", 0.97}, which has no unit.
// Infinite when the model is exact.
struct Measure {
  std::string name = {};
  double value = 0;
  std::string unit = {};
};

struct Progress {
  std::int64_t step = 0;         // steps done
  std::int64_t total_steps = 0;  // 0 when the run is limited by time alone
  double loss = 0;
  std::optional<Measure> measure = {};  // of the last batch, if the task has one
  double learning_rate = 0;
  double steps_per_second = 0;
  double seconds = 0;       // since the run began, over all resumptions
  double seconds_left = 0;  // estimate; below 0 when unknown
};

struct Events {
  Events() = default;
  // A listener for progress alone, such as a lambda.
  template <class Listener>
  requires std::invocable<Listener, const Progress&> Events(Listener listener)
      : on_progress(std::move(listener)) {}  // NOLINT: a plain callback is an Events

  // About ten times a second, and at the first and the last step.
  std::function<void(const Progress&)> on_progress;
  // Once the run has been accepted, with the step it begins at: 0, or that of the checkpoint it resumes.
  std::function<void(std::int64_t step)> on_start;
  // After every step, with the number of steps done and the loss before the last one. A GPU takes steps by
  // itself for up to 20 ms; then it is called for each of them, and the model is that of the last.
  std::function<void(std::int64_t step, double loss)> on_step;
  // Things a user should hear of: a checkpoint that could not be written, a fallback to an older one.
  std::function<void(const std::string&)> on_warning;
  // A checkpoint has become durable.
  std::function<void(std::int64_t step, const std::string& path)> on_checkpoint;
  // Asked after every on_step: true ends the run after a last checkpoint (a signal, a closed window), and
  // after the steps that a GPU has taken meanwhile.
  std::function<bool()> should_stop;
};

}  // namespace veldt::train
