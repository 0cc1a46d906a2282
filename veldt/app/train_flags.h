// What the trainings of `veldt train` share: its flags, and what is said of each run.
// Tests: tests/app/train_test.cpp, tests/app/play_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/app/frame.h"
#include "veldt/app/live_flags.h"
#include "veldt/app/profiling.h"
#include "veldt/cli/context.h"
#include "veldt/recipe/recipe.h"
#include "veldt/train/loop.h"

namespace veldt::app {

struct TrainFlags {
  std::string config, data, out, device = "auto";
  std::vector<std::string> sets;
  std::int64_t keep = 3;
  double every = 30;
  std::int64_t top = 0;
  std::int64_t exact = 0;  // parts of a batch; 0: one for each process
  double until = 1;
  LiveFlags live;
  ProfileFlags profile;
  bool half_gradients = false, share_optimizer = false, sync_batch_norm = false;
  bool resume = false, find_rate = false, overfit = false;
};

// A file of the run's folder.
std::string in_run(const TrainFlags& flags, const char* name);
// "steps", "time", "patience", "signal"
const char* text_of_stop(train::Stop stop);
// The most memory that this process has had.
std::int64_t peak_bytes();

// Of a recipe with an environment; the folder is not chosen yet.
int train_agent(TrainFlags flags, const recipe::Recipe& recipe, Context& context);

}  // namespace veldt::app
