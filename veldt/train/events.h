// Events of a training run, passed to a callback as plain structs: for a progress line, a log or a live page.
// Tests: tests/train/loop_test.cpp, tests/train/trainer_test.cpp
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace veldt::train {

// A score of a model, higher is better: {"PSNR", 31.24, "dB"}, or {"accuracy", 0.97}, which has no unit.
// Infinite when the model is exact.
struct Measure {
  std::string name = {};
  double value = 0;
  std::string unit = {};
};

struct Progress {
  std::int64_t step = 0;         // steps done
  std::int64_t total_steps = 0;  // 0 if the run is only limited by time
  double loss = 0;
  std::vector<std::pair<std::string, double>> losses = {};  // its parts, by player, if there are several
  std::optional<Measure> measure = {};                      // of the last batch, if the task has one
  double learning_rate = 0;
  double steps_per_second = 0;
  double seconds = 0;       // since the run began, over all resumptions
  double seconds_left = 0;  // estimate; below 0 if unknown
};

struct Events {
  Events() = default;
  // A listener only for progress, such as a lambda.
  template <class Listener>
  requires std::invocable<Listener, const Progress&> Events(Listener listener)
      : on_progress(std::move(listener)) {}  // NOLINT: a plain callback is an Events

  // About ten times a second, and at the first and the last step.
  std::function<void(const Progress&)> on_progress;
  // Called once when the run begins, with its first step: 0, or that of the checkpoint it resumes.
  std::function<void(std::int64_t step)> on_start;
  // After every step, with the number of steps done and the loss before the last one. A GPU runs ahead for up
  // to 20 ms; then this is called for each of its steps, with the model of the last one.
  std::function<void(std::int64_t step, double loss)> on_step;
  // Problems that a user should know about: a checkpoint that could not be written, a fallback to an older
  // one. Without a listener they are lines of standard error: see core/warning.h.
  std::function<void(const std::string&)> on_warning;
  // A checkpoint has become durable.
  std::function<void(std::int64_t step, const std::string& path)> on_checkpoint;
  // Called after every on_step: true ends the run (a signal, a closed window) after a last checkpoint and the
  // steps that a GPU has taken meanwhile.
  std::function<bool()> should_stop;
  // Called after every step: true asks for a checkpoint now, if the run keeps any.
  std::function<bool()> should_save;
  // Called after every step, and may wait: a pause, whose time is none of the run's.
  std::function<void()> hold;
};

}  // namespace veldt::train
