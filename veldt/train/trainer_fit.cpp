// Trainer::fit(): the task for run(), with its evaluations and files.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/json.h"
#include "veldt/nn/audit.h"
#include "veldt/train/batch_slots.h"
#include "veldt/train/best_weights.h"
#include "veldt/train/fit_state.h"
#include "veldt/train/metrics_file.h"
#include "veldt/train/stretch.h"
#include "veldt/train/trainer.h"
#include "veldt/train/warn.h"

namespace veldt::train {
namespace {

namespace fs = std::filesystem;

void check_fit(const FitOptions& options, const data::Loader* validation) {
  if (options.resume && options.out.empty())
    throw ConfigError("there is nothing to resume", "a run is resumed from its folder, and none was given",
                      "set FitOptions::out");
  if (validation == nullptr && (options.patience > 0 || !options.watch.empty() || options.keep_top > 0))
    throw ConfigError("there is nothing to watch",
                      "patience, watch and keep_top need a validation set, and there is none",
                      "give one, or none of them");
  if (options.schedule && options.seconds > 0 && options.steps <= 0 && options.epochs <= 0)
    throw ConfigError("a run that is only limited by time has no schedule",
                      "a schedule depends on the number of steps, which is not known",
                      "give epochs or steps too");
}

// A run can only be resumed with the same data in the same order.
std::string config_of(const FitOptions& options, const TrainerOptions& trainer,
                      const data::LoaderOptions& o) {
  nlohmann::json config = io::parse_json<nlohmann::json>(options.config);
  config["trainer"] = {{"examples", o.sampler.size},
                       {"batch", o.batch},
                       {"seed", o.seed},
                       {"shuffle", o.shuffle},
                       {"drop_last", o.drop_last},
                       {"accumulate", trainer.accumulate},
                       {"ema_decay", trainer.ema_decay},
                       {"evaluate_every", options.evaluate_every},
                       {"schedule", options.schedule ? options.schedule->text() : ""}};
  if (trainer.autocast)
    config["trainer"]["autocast"] = name_of(*trainer.autocast);  // older runs lack the key
  return io::dump_json(config);
}

// A step takes one batch, or several that are accumulated.
std::int64_t steps_for(std::int64_t epochs, const data::Loader& train, std::int64_t accumulate) {
  std::int64_t batches = 0;
  if (__builtin_mul_overflow(epochs, train.batches(), &batches))
    batches = std::numeric_limits<std::int64_t>::max() - accumulate;
  return (batches + accumulate - 1) / accumulate;
}

// `steps`: of the run. A rate that has ended at 0 is refused; one that goes on low may be meant.
void check_schedule(const optim::Schedule& schedule, std::int64_t steps, const Events& events) {
  const std::int64_t end = schedule.length();
  if (end == 0 || steps - end <= std::max<std::int64_t>(1, end / 10)) return;
  const std::string what = str("the schedule ends at step ", end, ", and the run has ", steps);
  const std::string fix = str("give the schedule the length of the run, .steps = ", steps,
                              ": it counts steps of the optimizer, not epochs");
  const double rate = schedule(steps - 1);
  if (rate == 0)
    throw ConfigError(what, "the rate stays at 0 from there on, so that nothing is learned", fix);
  warn(events, str(what, "; the rate stays at ", rate, " from there on: ", fix));
}

// A line of metrics.csv.
void write_measures(MetricsFile& file, const Evaluation& e) {
  std::vector<std::string> columns{"step", "epoch", "train_loss", "learning_rate", "seconds", "waiting"};
  std::vector<double> values{
      static_cast<double>(e.step), e.epoch, e.train_loss, e.learning_rate, e.seconds, e.waiting};
  for (const auto& [name, value] : e.scores) {
    columns.push_back("validation_" + name);
    values.push_back(value);
  }
  file.add(columns, values);
}

}  // namespace

class Trainer::FitTask final : public Task {
 public:
  FitTask(Trainer& trainer, data::Loader& train, data::Loader* validation, const FitOptions& options,
          const Events& events, const std::function<void(const Evaluation&)>& on_evaluation)
      : trainer_(trainer),
        train_(train),
        validation_(validation),
        options_(options),
        events_(events),
        on_evaluation_(on_evaluation),
        every_(options.evaluate_every > 0 ? options.evaluate_every
                                          : steps_for(1, train, trainer.options_.accumulate)),
        slots_(trainer.optimizer_.slab().values().device(), options.record),
        watched_(trainer.watched(options.watch)),
        best_weights_(trainer.model_, trainer.ema_ ? &*trainer.ema_ : nullptr, options, events, watched_,
                      trainer.larger_is_better(watched_)),
        stretch_(train) {
    check_fit(options, validation);
    if (!options.out.empty()) file_.emplace((fs::path(options.out) / "metrics.csv").string());
  }

  void begin(std::int64_t step) {
    step_ = step;
    if (file_) file_->begin(step);
    best_weights_.begin(step);
    stretch_.begin();
  }

  nn::Module& model() override { return trainer_.model_; }
  optim::Optimizer& optimizer() override { return trainer_.optimizer_; }

  void prepare(std::int64_t step, std::int64_t) override {
    const std::int64_t parts = trainer_.options_.accumulate;
    slots_.take(train_, step * parts, parts);
    step_ = step + 1;
  }

  Tensor loss() override { return trainer_.loss_of(slots_.batches().front()); }

  // Batch by batch, so that only one graph is in memory.
  Tensor differentiate() override {
    return trainer_.differentiate(slots_.batches(), [this](const Tensor& part) {
      if (!audited_) audit(part);
    });
  }

  void take_step() override { trainer_.take_step(); }

  // Only after the first step has shown that every parameter gets a gradient.
  bool repeats() const override { return audited_ && slots_.same(); }
  std::string bad_data() const override { return slots_.first_not_finite(); }
  std::map<std::string, std::string> metadata() const override { return {}; }

  void stepped(double loss) override {
    state_.train_loss += loss;
    ++state_.steps;
    if (trainer_.ema_) trainer_.ema_->update();
    if (step_ % every_ == 0) evaluate();
  }

  // Also after the last step, where a run ends between two.
  void evaluate() {
    if (state_.steps == 0) return;
    Evaluation e;
    e.step = step_;
    e.epoch =
        static_cast<double>(step_ * trainer_.options_.accumulate) / static_cast<double>(train_.batches());
    e.train_loss = std::exchange(state_.train_loss, 0) / static_cast<double>(std::exchange(state_.steps, 0));
    e.learning_rate = optimizer().lr();
    const double passed = stretch_.seconds(), waited = stretch_.waited();
    e.waiting = passed > 0 ? waited / passed : 0;
    state_.waited += waited;
    if (validation_ != nullptr) {
      e.scores = trainer_.evaluate(*validation_);
      e.best = best_weights_.judge(step_, score(e.scores, watched_), state_);
    }
    state_.seconds += stretch_.seconds();
    e.seconds = state_.seconds;
    stretch_.begin();
    if (file_) written_or_warned(events_, [&] { write_measures(*file_, e); });
    evaluations_.push_back(e);
    if (on_evaluation_) on_evaluation_(e);
  }

  NamedTensors own_state() override { return trainer_.own_state(); }
  void load_own_state(const std::map<std::string, Tensor>& saved) override {
    trainer_.load_own_state(saved);
    audited_ = true;
  }

  std::string own_json() const override {
    FitState now = state_;
    now.seconds += stretch_.seconds();
    now.waited += stretch_.waited();
    return to_json(now);
  }
  void load_own_json(const std::string& saved) override { state_ = fit_state_from(saved); }

  bool reached(std::int64_t) override { return was_reached(); }
  bool was_reached() const override {
    return options_.patience > 0 && state_.without_better >= options_.patience;
  }

  void finish(FitResult& result) {
    if (result.run.stop != Stop::asked) {  // the run may be resumed in the middle
      evaluate();
      if (options_.restore_best) best_weights_.restore(step_, state_);
    }
    // Over all resumptions.
    const double seconds = state_.seconds + stretch_.seconds();
    result.waiting = seconds > 0 ? (state_.waited + stretch_.waited()) / seconds : 0;
    if (state_.best)
      result.best =
          Evaluation{.step = state_.best->step, .scores = {{watched_, state_.best->score}}, .best = true};
    // This process may have a more recent state.
    for (const Evaluation& e : evaluations_)
      if (e.best) result.best = e;
    result.evaluations = std::move(evaluations_);
  }

 private:
  void audit(const Tensor& loss) {
    audited_ = true;
    nn::GradientAudit found = nn::audit_gradients(model(), loss);
    // The first scales may be too large; the scaler then lowers them.
    if (trainer_.scaler_)
      std::erase_if(found.findings, [](const auto& f) { return f.fault == nn::GradientFault::not_finite; });
    if (!found.healthy()) warn(events_, "after the first step: " + found.text());
  }

  Trainer& trainer_;
  data::Loader& train_;
  data::Loader* validation_;
  const FitOptions& options_;
  const Events& events_;
  const std::function<void(const Evaluation&)>& on_evaluation_;
  std::int64_t every_;
  bool audited_ = false;
  BatchSlots slots_;
  std::string watched_;
  BestWeights best_weights_;
  Stretch stretch_;
  std::int64_t step_ = 0;  // taken so far
  FitState state_;
  std::vector<Evaluation> evaluations_;
  std::optional<MetricsFile> file_;
};

FitResult Trainer::fit(data::Loader& train, data::Loader* validation, const FitOptions& options,
                       const Events& events, const std::function<void(const Evaluation&)>& on_evaluation) {
  FitTask task(*this, train, validation, options, events, on_evaluation);
  RunOptions run_options;
  run_options.steps = options.steps;
  if (options.epochs > 0) {
    const std::int64_t steps = steps_for(options.epochs, train, options_.accumulate);
    run_options.steps = options.steps > 0 ? std::min(options.steps, steps) : steps;
  }
  if (options.schedule) check_schedule(*options.schedule, run_options.steps, events);
  run_options.seconds = options.seconds;
  run_options.rate = [&, lr = optimizer_.lr()](std::int64_t at) {
    return options.schedule ? (*options.schedule)(at) : lr;
  };
  if (!options.out.empty()) run_options.checkpoint_dir = (fs::path(options.out) / "checkpoints").string();
  run_options.checkpoint_every = options.checkpoint_every;
  run_options.keep = options.keep;
  run_options.resume = options.resume;
  run_options.config = config_of(options, options_, train.options());
  Events heard = events;
  heard.on_start = [&](std::int64_t step) {
    task.begin(step);
    if (events.on_start) events.on_start(step);
  };
  if (!model_.training()) model_.train();
  FitResult result;
  result.run = run(task, run_options, heard);
  task.finish(result);
  return result;
}

}  // namespace veldt::train
