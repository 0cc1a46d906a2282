// train::run(): the course of a run: its end, its progress, its checkpoints, and its error if it diverges.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/train/agreement.h"
#include "veldt/train/loop.h"
#include "veldt/train/run_checkpoints.h"
#include "veldt/train/run_state.h"
#include "veldt/train/stepper.h"

namespace veldt::train {
namespace {

constexpr double kNewsEvery = 0.1;  // seconds

DivergedError divergence(Task& task, const RunState& at, const std::string& kept) {
  const std::optional<std::string> bad = task.first_bad_parameter();
  const auto number = [](double x) { return std::isnan(x) ? "nan" : str(x); };  // a NaN may have a sign
  std::string what = str("training diverged at step ", at.step, ": the loss is ", number(at.loss));
  for (const auto& [name, loss] : task.losses()) what += str(", of ", name, ' ', number(loss));
  if (const std::string data = task.bad_data(); !data.empty())
    return {what, data,
            str("fix the data (in C++, LoaderOptions::check_finite names the example), or use a smaller "
                "learning rate; ",
                kept)};
  return {what,
          bad ? str("the parameter ", *bad, " is no longer finite, at a rate of ", at.rate)
              : str("every parameter is still finite, so the step itself overflowed at a rate of ", at.rate),
          str("use a smaller learning rate; ", kept)};
}

class Run {
 public:
  Run(Task& task, const RunOptions& options, const Events& events)
      : task_(task),
        options_(options),
        events_(events),
        stepper_(task, options, events, at_, [this] { diverged(); }) {
    if (options.steps <= 0 && !(options.seconds > 0))
      throw ConfigError("a run needs an end", "neither steps nor seconds were given", "give one of them");
    if (!options_.checkpoint_dir.empty()) {
      checkpoints_.emplace(task, options, events);
      if (options_.resume) at_ = checkpoints_->resume();
    }
    if (options_.ranks != nullptr) begin_alike(*options_.ranks, task, at_);
  }

  RunResult go() {
    at_.start = last_save_ = RunState::Clock::now();
    first_step_ = at_.step;
    if (events_.on_start) events_.on_start(at_.step);
    std::optional<Stop> stop;
    if (are_steps_done())
      stop = Stop::steps_done;
    else if (agreed_time_over())
      stop = Stop::time_over;
    if (!stop && at_.step > 0 && task_.was_reached()) stop = Stop::goal_met;
    if (!stop && pauses()) stop = Stop::asked;
    while (!stop) {
      const bool asked = stepper_.take() || pauses();
      const Decisions now = agreed_by_all(
          {.stop = asked, .time_over = is_time_over(), .save = is_time_to_save(), .seconds = at_.seconds()});
      if (are_steps_done())
        stop = Stop::steps_done;
      else if (now.time_over)
        stop = Stop::time_over;
      else if (task_.reached(at_.step))
        stop = Stop::goal_met;
      else if (now.stop)
        stop = Stop::asked;
      tell(stop.has_value());
      if (!stop && now.save) save();
      if (!stop && events_.hold) hold();
    }
    if (at_.step > first_step_ && task_.first_bad_parameter()) diverged();
    std::optional<IoError> lost;
    if (agreed_by_all({.save = checkpoints_ && at_.step > checkpoints_->saved_step()}).save) lost = save();
    return {*stop, at_.step, at_.seconds(), at_.loss, lost};
  }

 private:
  bool by_time() const { return options_.steps <= 0; }

  bool pauses() const { return options_.pause > 0 && at_.step >= options_.pause; }

  bool are_steps_done() const { return !by_time() && at_.step >= options_.steps; }
  bool is_time_over() const { return options_.seconds > 0 && at_.seconds() >= options_.seconds; }
  // Before the first step.
  bool agreed_time_over() {
    return agreed_by_all({.time_over = is_time_over(), .seconds = at_.seconds()}).time_over;
  }
  Decisions agreed_by_all(const Decisions& own) {
    if (options_.ranks == nullptr) return own;
    const Decisions all = agreed(*options_.ranks, own);
    at_.agreed_seconds = all.seconds;
    return all;
  }

  void tell(bool last) {
    if (!events_.on_progress) return;
    const double now = at_.seconds_here();
    if (!last && at_.step > first_step_ + 1 && now - last_news_ < kNewsEvery) return;
    last_news_ = now;
    Progress p;
    p.step = at_.step;
    p.total_steps = by_time() ? 0 : options_.steps;
    p.loss = at_.loss;
    p.losses = task_.losses();
    p.measure = task_.measure();
    p.learning_rate = at_.rate;
    p.seconds = at_.seconds();
    p.steps_per_second = static_cast<double>(at_.step - first_step_) / std::max(now, 1e-9);
    p.seconds_left = seconds_left(p.steps_per_second);
    events_.on_progress(p);
  }

  double seconds_left(double steps_per_second) const {
    double left = -1;
    if (!by_time()) left = static_cast<double>(options_.steps - at_.step) / steps_per_second;
    if (options_.seconds > 0) {
      const double until = std::max(0.0, options_.seconds - at_.seconds());
      left = left < 0 ? until : std::min(left, until);
    }
    return left;
  }

  void hold() {
    const auto before = RunState::Clock::now();
    events_.hold();
    const auto waited = RunState::Clock::now() - before;
    at_.start += waited;
    last_save_ += waited;
  }

  bool is_time_to_save() const {
    if (events_.should_save && events_.should_save()) return true;
    if (!checkpoints_) return false;
    const std::chrono::duration<double> since = RunState::Clock::now() - last_save_;
    return since.count() >= options_.checkpoint_every;
  }

  std::optional<IoError> save() {
    last_save_ = RunState::Clock::now();
    if (task_.first_bad_parameter()) diverged();  // on every rank, which has the same
    std::optional<IoError> lost;
    if (checkpoints_)
      lost = checkpoints_->save(at_);
    else
      task_.optimizer().state_dict();  // gives rank 0 this rank's part of a state that is shared out
    if (options_.ranks != nullptr) tell_of_save(lost.has_value());
    return lost;
  }

  // The other ranks know of a checkpoint when it is durable.
  void tell_of_save(bool lost) {
    const std::string path =
        options_.ranks->broadcast(checkpoints_ && !lost ? checkpoints_->path_of(at_.step) : std::string());
    if (!checkpoints_ && !path.empty() && events_.on_checkpoint) events_.on_checkpoint(at_.step, path);
  }

  [[noreturn]] void diverged() {
    throw divergence(
        task_, at_,
        checkpoints_ && checkpoints_->saved_step() >= 0
            ? str("the last good checkpoint is ", checkpoints_->path_of(checkpoints_->saved_step()))
            : std::string("no checkpoint was kept"));
  }

  Task& task_;
  const RunOptions& options_;
  const Events& events_;
  RunState at_;
  Stepper stepper_;
  std::optional<RunCheckpoints> checkpoints_;
  std::int64_t first_step_ = 0;
  double last_news_ = -1;
  RunState::Clock::time_point last_save_;
};

}  // namespace

RunResult run(Task& task, const RunOptions& options, const Events& events) {
  return Run(task, options, events).go();
}

}  // namespace veldt::train
