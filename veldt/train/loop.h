// The training loop: rate, step, stop conditions, checkpoints, progress. The Task defines what is learned;
// trainer.h has one for batches of examples.
// Tests: tests/train/loop_test.cpp, tests/field/ahead_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/dist/communicator.h"
#include "veldt/nn/module.h"
#include "veldt/optim/optimizer.h"
#include "veldt/tensor/tensor.h"
#include "veldt/train/events.h"

namespace veldt::train {

// A model, its optimizer and its data: model(), optimizer(), prepare() and loss() are all that a task must
// have. Step numbers count from 0 over all resumptions. The results of
// prepare(step) and loss() must be a pure function of the parameters, own_state(), own_json() and the step:
// then a resumed run continues bit for bit.
class Task {
 public:
  virtual ~Task() = default;
  virtual nn::Module& model() = 0;
  virtual optim::Optimizer& optimizer() = 0;
  // Prepares the data of one step, or of as many as runs_ahead() allows, from `step` on. Several are prepared
  // while the device takes the steps before, so they must not depend on the results of these, nor change
  // anything that measure() and stepped() use.
  virtual void prepare(std::int64_t step, std::int64_t steps) = 0;
  // The loss on that data: one element, differentiable.
  virtual Tensor loss() = 0;
  // Leaves the gradients of a step with the parameters, and returns its loss, cut off from the graph.
  virtual Tensor differentiate();
  // Takes the step, from the gradients that differentiate() left.
  virtual void take_step() { optimizer().step(); }
  // Called once on every rank, when all have the model of rank 0: true if the optimizer's state has been
  // shared out (Optimizer::share_state), and is not to be given to all.
  virtual bool share_optimizer() { return false; }
  // The parts of the last step's loss, by name, if there are several.
  virtual std::vector<std::pair<std::string, double>> losses() const { return {}; }
  // The name of a parameter that is not finite.
  virtual std::optional<std::string> first_bad_parameter() { return optimizer().first_bad_parameter(); }
  // Asked after each prepare(): true if it has written into the same tensors as other times, and loss() does
  // the same operations on them. Then the step is recorded once, as a Plan, and replayed.
  virtual bool repeats() const { return false; }
  // How many steps from this one on the device may take by itself, with one prepare() for all, and stepped()
  // and reached() after the last one. More than 1 is for a task that repeats(), on a device that is not the
  // CPU.
  virtual std::int64_t runs_ahead(std::int64_t /*step*/) const { return 1; }
  // Called after each step, with the loss before it, to update the state of own_state() and own_json().
  virtual void stepped(double /*loss*/) {}
  // Called before a checkpoint is saved: files of the task's own are not to be behind it.
  virtual void saving() {}
  // Tensors that the task changes, besides those of model and optimizer; prepare() and loss() may depend on
  // them. Checkpoints hold them too.
  virtual NamedTensors own_state() { return {}; }
  // Called on resumption with tensors of the right shapes; by default they are copied into own_state(). The
  // numbers come from a file, so invalid ones must be refused with an IoError.
  virtual void load_own_state(const std::map<std::string, Tensor>& saved);
  // Its other state as a JSON object: the "task" of state.json in a checkpoint. Empty: none.
  virtual std::string own_json() const { return {}; }
  // Called with it on resumption, before any tensors; empty if the checkpoint has none.
  virtual void load_own_json(const std::string& /*saved*/) {}
  // The problem with the data of the last step, "the batch holds nan ..", if it explains a loss that is not
  // finite; empty if there is none or it is unknown.
  virtual std::string bad_data() const { return {}; }
  // The model's score on the last batch; called when progress is reported.
  virtual std::optional<Measure> measure() { return std::nullopt; }
  // Called after every step, or after those of runs_ahead(): true if the goal has been reached.
  virtual bool reached(std::int64_t /*steps_done*/) { return false; }
  // Called on resumption, before the first step: whether the saved state says that the goal has been reached.
  virtual bool was_reached() const { return false; }
  // The metadata of a checkpoint's model file.
  virtual std::map<std::string, std::string> metadata() const { return {}; }
};

struct RunOptions {
  std::int64_t steps = 0;  // 0: until `seconds` have passed
  double seconds = 0;      // 0: until `steps` are done
  // Above 0: the run stops after this step as if an event had asked for it, to be resumed later.
  std::int64_t pause = 0;
  // The learning rate at a position: the step, or, in a run only limited by time, the share of the time that
  // has passed, times kTimePositions.
  std::function<double(std::int64_t position)> rate;
  std::string checkpoint_dir;    // empty: none are written
  double checkpoint_every = 30;  // seconds
  int keep = 3;
  // Continues from the newest checkpoint, if there is one.
  bool resume = false;
  // Of several processes that take the same steps; null: there is one. Rank 0 alone saves and resumes
  // checkpoints, the others need no directory. All begin as it does, and stop and save at the same steps.
  dist::Communicator* ranks = nullptr;
  // Whether steps have the same bits on any number of them, so that a run may go on with another one without
  // a warning.
  bool any_ranks = false;
  double look_every = 0.02;  // seconds that a GPU may run ahead: see Task::runs_ahead()
  // The configuration of the run, as a JSON object. A checkpoint is only resumed by a run with the same
  // configuration, but for the keys in `may_change`.
  std::string config = "{}";
  std::vector<std::string> may_change = {};
};

inline constexpr std::int64_t kTimePositions = 1'000'000;

enum class Stop { steps_done, time_over, goal_met, asked };

struct RunResult {
  Stop stop = Stop::steps_done;
  std::int64_t steps = 0;  // over all resumptions
  double seconds = 0;
  double loss = 0;  // of the last step
  // The reason if the run's last checkpoint could not be written.
  std::optional<IoError> checkpoint_error = {};
};

// Throws ConfigError if the configurations differ, or if the directory holds a run that is not to be resumed;
// DivergedError, naming the first parameter that is not finite. The last good checkpoint stays
// unchanged. A checkpoint that cannot be written, because the disk is full or another run has taken the place
// of the directory, is a warning, and training goes on.
RunResult run(Task& task, const RunOptions& options, const Events& events = {});

}  // namespace veldt::train
