// Runs a task step by step, records and replays its plan, and looks at the clock, the loss and who wants to
// stop.
#include "veldt/train/loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/io/json.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/plan.h"
#include "veldt/train/checkpoint.h"

namespace veldt::train {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr double kNewsEvery = 0.1;  // seconds
constexpr const char* kOwnPrefix = "task.";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Every value by its path: "field.omega". Lists are values.
void flatten(const json& object, const std::string& path, std::map<std::string, json>& into) {
  if (!object.is_object()) {
    into[path] = object;
    return;
  }
  for (const auto& [key, value] : object.items()) flatten(value, path.empty() ? key : path + "." + key, into);
}

// The keys in which two configurations differ, with both values.
std::string differences(const json& before, const json& now) {
  std::map<std::string, json> was, is;
  flatten(before, "", was);
  flatten(now, "", is);
  std::map<std::string, json> keys = was;
  keys.insert(is.begin(), is.end());
  const auto shown = [](const std::map<std::string, json>& values, const std::string& key) {
    const auto at = values.find(key);
    return at == values.end() ? std::string("not set") : io::dump_json(at->second);
  };
  std::string out;
  for (const auto& [key, value] : keys) {
    const std::string from = shown(was, key), to = shown(is, key);
    if (from != to) out += str(out.empty() ? "" : ", ", key, " was ", from, " and is ", to);
  }
  return out;
}

// state.json of a checkpoint.
std::string state_of(const Task& task, const RunOptions& options, std::int64_t step, double seconds,
                     double loss) {
  json state{{"step", step},
             {"seconds", seconds},
             {"loss", loss},
             {"threads", num_threads()},
             {"config", io::parse_json<json>(options.config)}};
  if (const std::string own = task.own_json(); !own.empty()) state["task"] = io::parse_json<json>(own);
  return io::dump_json(state);
}

class Run {
 public:
  Run(Task& task, const RunOptions& options, const Events& events)
      : task_(task), options_(options), events_(events) {
    if (options.steps <= 0 && options.seconds <= 0)
      throw ConfigError("a run needs an end", "neither steps nor seconds were given", "give one of them");
    if (options_.checkpoint_dir.empty()) return;
    checkpoints_.emplace(options_.checkpoint_dir, options_.keep);
    if (options_.resume)
      restore();
    else if (!checkpoints_->steps().empty())
      throw ConfigError(str(options_.checkpoint_dir, " already holds a run"),
                        str("it has a checkpoint of step ", checkpoints_->steps().back()),
                        "resume it (--resume on the command line), or name another directory");
  }

  RunResult go() {
    start_ = last_save_ = Clock::now();
    first_step_ = step_;
    if (events_.on_start) events_.on_start(step_);
    std::optional<Stop> stop = over();
    if (!stop && step_ > 0 && task_.was_reached()) stop = Stop::goal_met;
    while (!stop) {
      const bool asked = take_steps();
      stop = over();
      if (!stop && task_.reached(step_)) stop = Stop::goal_met;
      if (!stop && asked) stop = Stop::asked;
      tell(stop.has_value());
      if (!stop && checkpoints_ && seconds_since(last_save_) >= options_.checkpoint_every) save();
    }
    if (step_ > first_step_ && task_.optimizer().first_bad_parameter()) diverged();
    std::optional<IoError> lost;
    if (checkpoints_ && step_ > saved_step_) lost = save();
    return {*stop, step_, elapsed(), loss_, lost};
  }

 private:
  double elapsed() const { return seconds_before_ + seconds_since(start_); }
  bool by_time() const { return options_.steps <= 0; }

  std::optional<Stop> over() const {
    if (!by_time() && step_ >= options_.steps) return Stop::steps_done;
    if (options_.seconds > 0 && elapsed() >= options_.seconds) return Stop::time_over;
    return std::nullopt;
  }

  // Of the step that comes next; `later`: seconds from now.
  void set_rate(std::int64_t step, double later) {
    if (by_time()) {
      const double share = std::min(1.0, (elapsed() + later) / options_.seconds);
      step = std::llround(share * static_cast<double>(kTimePositions));
    }
    rate_ = options_.rate(step);
    task_.optimizer().set_lr(rate_);
  }

  // Takes one step, or as many as the device may take by itself. True if somebody asked to stop.
  bool take_steps() {
    const bool on_device = task_.optimizer().slab().values().device().kind != DeviceKind::cpu;
    return on_device && task_.repeats() ? steps_on_device() : one_step();
  }

  bool one_step() {
    set_rate(step_, 0);
    task_.prepare(step_, 1);
    if (task_.repeats() && !plan_) plan_.emplace([&] { return task_.differentiate(); });
    if (plan_) plan_->replay();
    loss_ = (plan_ ? plan_->output() : task_.differentiate()).item();
    if (!std::isfinite(loss_)) diverged();
    task_.take_step();
    task_.stepped(loss_);
    ++step_;
    return tell_of_step();
  }

  // The rate and the optimizer are part of the plan, and losses are looked at afterwards. While the device
  // works, the next data are made ready.
  bool steps_on_device() {
    if (prepared_ == 0) task_.prepare(step_, prepared_ = count_ahead(step_));
    const std::int64_t count = std::exchange(prepared_, 0);
    if (!plan_)
      plan_.emplace([&] {
        const Tensor loss = task_.differentiate();
        const auto next_rate = [this](auto) {
          set_rate(next_, seconds_a_step_ * static_cast<double>(next_ - step_));
          ++next_;
        };
        host_work("rate", {}, next_rate, CallKind::numbers);
        task_.take_step();
        return loss;
      });
    const Tensor& loss = plan_->output();
    const Tensor losses = empty({count}, loss);
    const auto start = Clock::now();
    next_ = step_;
    plan_->replay(count, losses);
    if (task_.runs_ahead(step_ + count) > 1) {
      prepared_ = count_ahead(step_ + count);
      if (prepared_ > 0) task_.prepare(step_ + count, prepared_);
    }
    const std::vector<double> seen = to(losses, DType::f64).values<double>();
    seconds_a_step_ = seconds_since(start) / static_cast<double>(count);
    bool asked = false;
    for (const double next : seen) {
      loss_ = next;
      if (!std::isfinite(loss_)) {
        if (!by_time()) rate_ = options_.rate(step_);  // not of the last step that was taken
        diverged();
      }
      if (++step_ == next_) task_.stepped(loss_);
      asked = tell_of_step() || asked;
    }
    return asked;
  }

  std::int64_t count_ahead(std::int64_t step) const {
    if (seconds_a_step_ == 0) return 1;  // the first ones tell how long they take
    const auto most = static_cast<std::int64_t>(std::min(options_.look_every / seconds_a_step_, 1e6));
    const std::int64_t left = by_time() ? most : options_.steps - step;
    return std::min({std::max<std::int64_t>(1, most), left, task_.runs_ahead(step)});
  }

  bool tell_of_step() {
    if (events_.on_step) events_.on_step(step_, loss_);
    return events_.should_stop && events_.should_stop();
  }

  [[noreturn]] void diverged() {
    const std::optional<std::string> bad = task_.optimizer().first_bad_parameter();
    const std::string kept = checkpoints_ && saved_step_ >= 0
                                 ? str("the last good checkpoint is ", checkpoints_->path_of(saved_step_))
                                 : std::string("no checkpoint was kept");
    const std::string loss = std::isnan(loss_) ? "nan" : str(loss_);  // a NaN may have a sign
    const std::string what = str("training diverged at step ", step_, ": the loss is ", loss);
    if (const std::string data = task_.bad_data(); !data.empty())
      throw DivergedError(
          what, data, str("mend the data (in C++, LoaderOptions::check_finite names the example); ", kept));
    throw DivergedError(
        what,
        bad ? str("the parameter ", *bad, " is no longer finite, at a rate of ", rate_)
            : str("every parameter is still finite, so the step itself overflowed at a rate of ", rate_),
        str("use a smaller learning rate; ", kept));
  }

  void tell(bool last) {
    if (!events_.on_progress) return;
    const double now = seconds_since(start_);
    if (!last && step_ > first_step_ + 1 && now - last_news_ < kNewsEvery) return;
    last_news_ = now;
    Progress p;
    p.step = step_;
    p.total_steps = by_time() ? 0 : options_.steps;
    p.loss = loss_;
    p.measure = task_.measure();
    p.learning_rate = rate_;
    p.seconds = elapsed();
    p.steps_per_second = static_cast<double>(step_ - first_step_) / std::max(now, 1e-9);
    p.seconds_left = seconds_left(p.steps_per_second);
    events_.on_progress(p);
  }

  double seconds_left(double steps_per_second) const {
    double left = -1;
    if (!by_time()) left = static_cast<double>(options_.steps - step_) / steps_per_second;
    if (options_.seconds > 0) {
      const double until = std::max(0.0, options_.seconds - elapsed());
      left = left < 0 ? until : std::min(left, until);
    }
    return left;
  }

  // Why it could not be written, if so: a warning, because training is worth more than a checkpoint.
  std::optional<IoError> save() {
    last_save_ = Clock::now();
    if (task_.optimizer().first_bad_parameter()) diverged();
    CheckpointData data;
    data.step = step_;
    data.model = task_.model().state();
    data.optim = task_.optimizer().state();
    for (const auto& [name, tensor] : task_.own_state()) data.optim.push_back({kOwnPrefix + name, tensor});
    data.model_metadata = task_.metadata();
    data.state_json = state_of(task_, options_, step_, elapsed(), loss_);
    std::vector<std::string> warnings;
    const auto warn = [&](const std::string& text) {
      if (events_.on_warning) events_.on_warning(text);
    };
    try {
      checkpoints_->save(data, &warnings);
      std::for_each(warnings.begin(), warnings.end(), warn);
      saved_step_ = step_;
      if (events_.on_checkpoint) events_.on_checkpoint(step_, checkpoints_->path_of(step_));
    } catch (const IoError& e) {
      std::for_each(warnings.begin(), warnings.end(), warn);
      warn(str(e.summary(), " (", e.why(), "); training goes on"));
      return e;
    }
    return std::nullopt;
  }

  void restore() {
    std::vector<std::string> warnings;
    const std::optional<CheckpointData> found = checkpoints_->load_newest(&warnings);
    for (const std::string& w : warnings)
      if (events_.on_warning) events_.on_warning(w);
    if (!found)
      throw ConfigError(str("there is nothing to resume in ", options_.checkpoint_dir),
                        "it holds no checkpoint", "leave out --resume to start a run there");
    try {
      apply(*found);
    } catch (const ConfigError&) {
      throw;
    } catch (const json::exception&) {
      throw IoError(IoError::Kind::corrupt, str("cannot resume ", checkpoints_->path_of(found->step)),
                    "its state.json lacks a value or has one of the wrong type", "start the run afresh");
    } catch (const Error& error) {
      throw IoError(IoError::Kind::corrupt, str("cannot resume ", checkpoints_->path_of(found->step)),
                    str(error.summary(), " (", error.why(), ")"), "start the run afresh");
    }
  }

  void apply(const CheckpointData& found) {
    const json state = io::parse_json<json>(found.state_json), config = io::parse_json<json>(options_.config);
    if (io::whole_number<std::int64_t>(state.at("step")) != found.step)
      throw IoError(IoError::Kind::corrupt, "its state.json is of another checkpoint",
                    str("its step is ", io::dump_json(state.at("step")), ", and the manifest's ", found.step),
                    "start the run afresh");
    if (state.at("config") != config)
      throw ConfigError(str("this run is not the one in ", options_.checkpoint_dir),
                        differences(state.at("config"), config),
                        "give the same data and options as before, or name another directory");
    if (state.at("threads") != num_threads() && events_.on_warning)
      events_.on_warning(str("the run was started with ", io::dump_json(state.at("threads")),
                             " threads and goes on with ", num_threads(),
                             ": the last bits may differ from an uninterrupted run"));
    task_.load_own_json(state.contains("task") ? io::dump_json(state.at("task")) : std::string());
    task_.model().load_state(found.model);
    NamedTensors optim, own;
    for (const auto& [name, tensor] : found.optim)
      if (name.starts_with(kOwnPrefix))
        own.push_back({name.substr(std::char_traits<char>::length(kOwnPrefix)), tensor});
      else
        optim.push_back({name, tensor});
    task_.optimizer().load_state(optim);
    task_.load_own_state(optim::matched("task", task_.own_state(), own));
    step_ = saved_step_ = found.step;
    seconds_before_ = state.at("seconds").get<double>();
    loss_ = state.at("loss").get<double>();
  }

  Task& task_;
  const RunOptions& options_;
  const Events& events_;
  std::optional<CheckpointDir> checkpoints_;
  std::optional<Plan> plan_;
  std::int64_t step_ = 0, first_step_ = 0, saved_step_ = -1;
  std::int64_t prepared_ = 0;  // steps whose data are ready
  std::int64_t next_ = 0;      // the step whose rate is due
  double seconds_a_step_ = 0;  // of a device; 0: not known yet
  double seconds_before_ = 0, last_news_ = -1, loss_ = 0, rate_ = 0;
  Clock::time_point start_ = Clock::now(), last_save_ = start_;
};

}  // namespace

Tensor Task::differentiate() {
  const Tensor value = loss();
  optimizer().zero_grad();
  value.backward();
  return value.detach();
}

void Task::load_own_state(const std::map<std::string, Tensor>& saved) {
  for (auto& [name, tensor] : own_state()) tensor.assign(saved.at(name));
}

RunResult run(Task& task, const RunOptions& options, const Events& events) {
  return Run(task, options, events).go();
}

}  // namespace veldt::train
