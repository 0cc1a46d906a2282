// Saves a run as checkpoints, and resumes it from the newest.
// Tests: tests/train/loop_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "veldt/core/error.h"
#include "veldt/train/checkpoint.h"
#include "veldt/train/events.h"
#include "veldt/train/loop.h"
#include "veldt/train/run_state.h"

namespace veldt::train {

class RunCheckpoints {
 public:
  // Keeps references. Throws ConfigError for a directory that holds a run, unless that is to be resumed.
  RunCheckpoints(Task& task, const RunOptions& options, const Events& events);

  // Restores the task from the newest checkpoint, and reports it. Throws ConfigError if there is none or its
  // configuration differs; IoError corrupt if it cannot be used.
  RunState resume();
  // If it could not be written, the reason, after a warning.
  std::optional<IoError> save(const RunState& at);

  std::int64_t saved_step() const { return saved_step_; }  // of the last one; -1: there is none
  std::string path_of(std::int64_t step) const { return directory_.path_of(step); }

 private:
  RunState apply(const CheckpointData& found);

  Task& task_;
  const RunOptions& options_;
  const Events& events_;
  CheckpointDir directory_;
  std::int64_t saved_step_ = -1;
};

}  // namespace veldt::train
