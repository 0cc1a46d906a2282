// The training loop: rate, step, stop conditions, checkpoints, news. What is learned is the Task's business;
// trainer.h has one for batches of examples.
// Tests: tests/train/loop_test.cpp, tests/field/ahead_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "veldt/core/error.h"
#include "veldt/nn/module.h"
#include "veldt/optim/optimizer.h"
#include "veldt/tensor/tensor.h"
#include "veldt/train/events.h"

namespace veldt::train {

// A model, its optimizer and its data. Step numbers count from 0 over all resumptions. What prepare(step) and
// loss() give must be a pure function of the parameters, own_state(), own_json() and the step: then a resumed
// run continues bit for bit.
class Task {
 public:
  virtual ~Task() = default;
  virtual nn::Module& model() = 0;
  virtual optim::Optimizer& optimizer() = 0;
  // Brings in the data of so many steps, from `step` on: of one, or as many as runs_ahead() allows. Those of
  // more than one are prepared while the device takes the steps before, so they must not depend on what these
  // leave, nor change what measure() and stepped() look at.
  virtual void prepare(std::int64_t step, std::int64_t steps) = 0;
  // The loss on that data: one element, differentiable.
  virtual Tensor loss() = 0;
  // Leaves the gradients of a step with the parameters, and returns its loss, cut off from the graph.
  virtual Tensor differentiate();
  // Takes the step, from the gradients that differentiate() left.
  virtual void take_step() { optimizer().step(); }
  // True if prepare() writes into the same tensors each time and loss() takes the same way through them: then
  // it is recorded once, as a Plan, and replayed.
  virtual bool repeats() const { return false; }
  // How many steps from this one on the device may do by itself: with one prepare() for all, and stepped()
  // and reached() after the last of them. More than 1 is for a task that repeats(), on a device that is not
  // the CPU.
  virtual std::int64_t runs_ahead(std::int64_t /*step*/) const { return 1; }
  // Called after each step, with the loss before it, to learn from it what own_state() and own_json() keep.
  virtual void stepped(double /*loss*/) {}
  // Tensors that the task changes beside those of model and optimizer; prepare() and loss() may depend on
  // them. A checkpoint has them too.
  virtual NamedTensors own_state() { return {}; }
  // Resuming hands them back, each of its shape, and they are written into own_state() unless a task
  // overrides this: numbers from a file, so one that cannot be has to be refused by an IoError.
  virtual void load_own_state(const std::map<std::string, Tensor>& saved);
  // What else it remembers, as a JSON object: in a checkpoint it is the "task" of state.json. Empty: nothing.
  virtual std::string own_json() const { return {}; }
  // Resuming hands it back before any tensor; empty if the checkpoint has none.
  virtual void load_own_json(const std::string& /*saved*/) {}
  // What is wrong with the data of the last step, "the batch holds nan ..", where that is why it has no
  // finite loss; empty if nothing is, or nothing is known.
  virtual std::string bad_data() const { return {}; }
  // How good the model is on the last batch; asked for when news are due.
  virtual std::optional<Measure> measure() { return std::nullopt; }
  // Asked after every step, or those of runs_ahead(): true when the goal has been met.
  virtual bool reached(std::int64_t steps_done) = 0;
  // Asked where a run is resumed, before its first step: whether what it keeps says that the goal has been
  // met.
  virtual bool was_reached() const { return false; }
  // What a checkpoint's model file says of the model.
  virtual std::map<std::string, std::string> metadata() const = 0;
};

struct RunOptions {
  std::int64_t steps = 0;  // 0: until `seconds` are over
  double seconds = 0;      // 0: until `steps` are done
  // The learning rate at a position: the step, or, in a run limited by time alone, the share of the time that
  // has passed, times kTimePositions.
  std::function<double(std::int64_t position)> rate;
  std::string checkpoint_dir;    // empty: none are written
  double checkpoint_every = 30;  // seconds
  int keep = 3;
  bool resume = false;
  double look_every = 0.02;  // seconds that a GPU is left to itself: see Task::runs_ahead()
  // What the run is, as a JSON object. A checkpoint is resumed only by a run that says the same of itself.
  std::string config = "{}";
};

inline constexpr std::int64_t kTimePositions = 1'000'000;

enum class Stop { steps_done, time_over, goal_met, asked };

struct RunResult {
  Stop stop = Stop::steps_done;
  std::int64_t steps = 0;  // over all resumptions
  double seconds = 0;
  double loss = 0;  // of the last step
  // Why the run's last checkpoint could not be written, when there was to be one.
  std::optional<IoError> checkpoint_error = {};
};

// Throws ConfigError when there is nothing to resume, when the configurations differ, or when the directory
// holds another run; DivergedError naming the first parameter that is not finite, the last good checkpoint
// untouched. A checkpoint that cannot be written, because the disk is full or another run has taken the place
// of the directory, is a warning, and training goes on.
RunResult run(Task& task, const RunOptions& options, const Events& events = {});

}  // namespace veldt::train
