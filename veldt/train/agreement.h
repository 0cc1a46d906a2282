// What the ranks of a run agree on: how it begins, and after each step whether it stops or saves.
// Tests: tests/train/ranks_test.cpp
#pragma once

#include "veldt/dist/communicator.h"
#include "veldt/train/loop.h"
#include "veldt/train/run_state.h"

namespace veldt::train {

// Every rank gets the model, the optimizer, the task's own state and the run's position of rank 0, which may
// have resumed a checkpoint; of a state that is shared out each its part.
void begin_alike(dist::Communicator& ranks, Task& task, RunState& at);

struct Decisions {
  bool stop = false;       // any rank was asked to
  bool time_over = false;  // by the clock of rank 0
  bool save = false;       // by the clock of rank 0
  double seconds = 0;      // of the run, by the clock of rank 0
};
Decisions agreed(dist::Communicator& ranks, const Decisions& own);

}  // namespace veldt::train
