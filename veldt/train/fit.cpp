// Trainer::fit(): the task that run() drives, with its evaluations, its best weights and what it writes.
#include "veldt/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/data/finite.h"
#include "veldt/io/json.h"
#include "veldt/io/safetensors.h"
#include "veldt/nn/audit.h"
#include "veldt/nn/losses.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/autocast.h"
#include "veldt/tensor/graph.h"
#include "veldt/train/copies.h"
#include "veldt/train/fit_state.h"
#include "veldt/train/metrics_file.h"
#include "veldt/train/top_weights.h"

namespace veldt::train {
namespace {

namespace fs = std::filesystem;

std::string shapes_of(const data::Batch& batch) {
  std::string text;
  for (const Tensor& t : batch) text += str(text.empty() ? "" : ", ", t.dtype(), ' ', t.shape());
  return text;
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
        every_(options.evaluate_every > 0 ? options.evaluate_every : steps_for(1)),
        device_(trainer.optimizer_.slab().values().device()) {
    const data::LoaderOptions& o = train.options();
    records_ = options.record.value_or(o.drop_last || o.sampler.size % o.batch == 0);
    if (!options.out.empty()) file_.emplace((fs::path(options.out) / "metrics.csv").string());
    watched_name_ = trainer.watched(options.watch);
    if (options.keep_top > 0 && !options.out.empty())
      top_.emplace((fs::path(options.out) / "top").string(), watched_name_, options.keep_top,
                   trainer.larger_is_better(watched_name_));
    if (options.resume && options.out.empty())
      throw ConfigError("there is nothing to resume", "a run is resumed from its folder, and none was given",
                        "set FitOptions::out");
    if (validation == nullptr && (options.patience > 0 || !options.watch.empty() || options.keep_top > 0))
      throw ConfigError("there is nothing to watch",
                        "patience, watch and keep_top are about a validation set, and there is none",
                        "give one, or none of them");
    if (options.schedule && options.seconds > 0 && options.steps <= 0 && options.epochs <= 0)
      throw ConfigError("a run that ends by the clock alone has no schedule",
                        "a schedule goes by steps, and their number is not known",
                        "give epochs or steps besides");
  }

  // A step takes one batch, or several that are accumulated.
  std::int64_t steps_for(std::int64_t epochs) const {
    const std::int64_t parts = trainer_.options_.accumulate;
    std::int64_t batches = 0;
    if (__builtin_mul_overflow(epochs, train_.batches(), &batches))
      batches = std::numeric_limits<std::int64_t>::max() - parts;
    return (batches + parts - 1) / parts;
  }

  void begin(std::int64_t step) {
    step_ = step;
    if (file_) file_->begin(step);
    if (top_) written([&] { top_->begin(step); });
    since_ = Clock::now();
    waited_ = train_.waited();
  }

  nn::Module& model() override { return trainer_.model_; }
  optim::Optimizer& optimizer() override { return trainer_.optimizer_; }

  void prepare(std::int64_t step, std::int64_t) override {
    const std::int64_t parts = trainer_.options_.accumulate;
    batches_.resize(static_cast<std::size_t>(parts));
    for (std::int64_t i = 0; i < parts; ++i)
      take(train_.batch(step * parts + i), batches_[static_cast<std::size_t>(i)]);
    step_ = step + 1;
  }

  Tensor loss() override { return loss_of(batches_.front()); }

  // One batch after the other, so that the graph of one alone is in memory.
  Tensor differentiate() override {
    return trainer_.differentiate(batches_, [this](const Tensor& part) {
      if (!audited_) audit(part);
    });
  }

  void take_step() override { trainer_.take_step(); }

  // Not before the first step has shown that every parameter learns.
  bool repeats() const override { return records_ && audited_; }
  std::string bad_data() const override {
    for (const data::Batch& batch : batches_)
      for (std::size_t k = 0; k < batch.size(); ++k)
        if (const std::string found = data::first_not_finite(batch[k]); !found.empty())
          return str("tensor ", k, " of the batch has ", found);
    return {};
  }
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
    const auto now = Clock::now();
    Evaluation e;
    e.step = step_;
    e.epoch =
        static_cast<double>(step_ * trainer_.options_.accumulate) / static_cast<double>(train_.batches());
    e.train_loss = std::exchange(state_.train_loss, 0) / static_cast<double>(std::exchange(state_.steps, 0));
    e.learning_rate = optimizer().lr();
    const double passed = seconds(since_, now);
    const double waited = train_.waited() - waited_;
    e.waiting = passed > 0 ? waited / passed : 0;
    state_.waited += waited;
    if (validation_ != nullptr) {
      e.scores = trainer_.evaluate(*validation_);
      judge(e);
    }
    state_.seconds += seconds(since_, Clock::now());
    e.seconds = state_.seconds;
    since_ = Clock::now();
    waited_ = train_.waited();
    write(e);
    evaluations_.push_back(e);
    if (on_evaluation_) on_evaluation_(e);
  }

  NamedTensors own_state() override {
    NamedTensors all;
    if (trainer_.ema_)
      for (auto& [name, tensor] : trainer_.ema_->state()) all.push_back({"ema." + name, tensor});
    if (trainer_.scaler_)
      for (auto& [name, tensor] : trainer_.scaler_->state()) all.push_back({"scaler." + name, tensor});
    return all;
  }

  void load_own_state(const std::map<std::string, Tensor>& saved) override {
    const auto part = [&](const std::string& prefix) {
      NamedTensors found;
      for (const auto& [name, tensor] : saved)
        if (name.starts_with(prefix)) found.push_back({name.substr(prefix.size()), tensor});
      return found;
    };
    if (trainer_.ema_) trainer_.ema_->load_state(part("ema."));
    if (trainer_.scaler_) trainer_.scaler_->load_state(part("scaler."));
    audited_ = true;
  }

  std::string own_json() const override {
    FitState now = state_;
    now.seconds += seconds(since_, Clock::now());
    now.waited += train_.waited() - waited_;
    return to_json(now);
  }
  void load_own_json(const std::string& saved) override { state_ = fit_state_from(saved); }

  bool reached(std::int64_t) override { return was_reached(); }
  bool was_reached() const override {
    return options_.patience > 0 && state_.without_better >= options_.patience;
  }

  // Puts the weights of the best evaluation back: those that are measured, so averages, if there are any.
  void restore_best() {
    optim::Ema* const average = trainer_.ema_ ? &*trainer_.ema_ : nullptr;
    if (!state_.best || state_.best->step == step_) {
      if (average != nullptr && average->updates() > 0) average->copy_to_parameters();
    } else if (best_) {
      model().load_state(*best_);
    } else if (!load_best_file()) {
      warn("the weights of the best evaluation are lost: the last ones stay");
      return;
    }
    if (average != nullptr) average->restart();
  }

  // Of the best evaluation, also of one before a resumption.
  std::optional<Evaluation> best() const {
    for (auto e = evaluations_.rbegin(); e != evaluations_.rend(); ++e)
      if (e->best) return *e;
    if (!state_.best) return std::nullopt;
    Evaluation e;
    e.step = state_.best->step;
    e.best = true;
    e.scores = {{watched_name_, state_.best->score}};
    return e;
  }

  // The share of the fit so far, over all resumptions.
  double waiting() const {
    const double all = state_.seconds + seconds(since_, Clock::now());
    return all > 0 ? (state_.waited + train_.waited() - waited_) / all : 0;
  }

  std::vector<Evaluation> take_evaluations() { return std::move(evaluations_); }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  Tensor loss_of(const data::Batch& batch) const { return trainer_.loss_of(batch); }

  void audit(const Tensor& loss) {
    audited_ = true;
    nn::GradientAudit found = nn::audit_gradients(model(), loss);
    // The first scales may be too large; that is what a scaler is there to find out.
    if (trainer_.scaler_)
      std::erase_if(found.findings, [](const auto& f) { return f.fault == nn::GradientFault::not_finite; });
    if (!found.healthy()) warn("after the first step: " + found.text());
  }

  void take(data::Batch batch, data::Batch& into) {
    if (!records_ || into.empty()) {
      into = data::moved(std::move(batch), device_);
      // What is written into again must not be the data set's own.
      if (records_)
        for (Tensor& t : into) t = copy_of(t);
      return;
    }
    bool fits = batch.size() == into.size();
    for (std::size_t i = 0; fits && i < into.size(); ++i)
      fits = batch[i].shape() == into[i].shape() && batch[i].dtype() == into[i].dtype();
    if (!fits)
      throw ConfigError(str("a batch has ", shapes_of(batch), " after one of ", shapes_of(into)),
                        "a recorded step needs batches of one shape", "set FitOptions::record to false");
    for (std::size_t i = 0; i < into.size(); ++i) into[i].assign(batch[i]);
  }

  std::string best_path() const { return (fs::path(options_.out) / "best.safetensors").string(); }

  void warn(const std::string& text) const {
    if (events_.on_warning) events_.on_warning(text);
  }

  // What cannot be written is a warning, because training is worth more than its measures.
  template <class Write> bool written(const Write& write) const {
    try {
      write();
      return true;
    } catch (const IoError& e) {
      warn(str(e.summary(), " (", e.why(), "); training goes on"));
      return false;
    }
  }

  // False if the file is not there, or is of another evaluation: a killed run may have written it after its
  // last checkpoint.
  bool load_best_file() {
    std::error_code none;
    if (options_.out.empty() || !fs::exists(best_path(), none)) return false;
    const io::SafeTensors file = io::read_safetensors(best_path());
    const auto step = file.metadata.find("step");
    if (step == file.metadata.end() || step->second != std::to_string(state_.best->step)) return false;
    model().load_state(file.tensors);
    return true;
  }

  // Whether the watched score is the best so far; then the weights are kept.
  void judge(Evaluation& e) {
    const double value = score(e.scores, watched_name_);
    const bool larger = trainer_.larger_is_better(watched_name_);
    e.best = !std::isnan(value) &&
             (!state_.best || (larger ? value > state_.best->score : value < state_.best->score));
    std::optional<optim::Ema::Swapped> averaged;
    if (trainer_.ema_) averaged.emplace(*trainer_.ema_);
    if (top_) written([&] { top_->add(step_, value, model().state()); });
    if (!e.best) {
      ++state_.without_better;
      return;
    }
    state_.best = {step_, value};
    state_.without_better = 0;
    best_.reset();
    const bool on_disk = !options_.out.empty() && written([&] {
      io::write_safetensors(best_path(), model().state(),
                            {{"step", std::to_string(step_)}, {watched_name_, str(value)}});
    });
    if (on_disk || !options_.restore_best) return;
    best_ = copies_of(model().state());
  }

  void write(const Evaluation& e) {
    if (!file_) return;
    std::vector<std::string> columns{"step", "epoch", "train_loss", "learning_rate", "seconds", "waiting"};
    std::vector<double> values{
        static_cast<double>(e.step), e.epoch, e.train_loss, e.learning_rate, e.seconds, e.waiting};
    for (const auto& [name, value] : e.scores) {
      columns.push_back("validation_" + name);
      values.push_back(value);
    }
    written([&] { file_->add(columns, values); });
  }

  Trainer& trainer_;
  data::Loader& train_;
  data::Loader* validation_;
  const FitOptions& options_;
  const Events& events_;
  const std::function<void(const Evaluation&)>& on_evaluation_;
  std::int64_t every_;
  Device device_;
  bool records_ = false, audited_ = false;
  std::int64_t step_ = 0;  // taken so far
  double waited_ = 0;      // by the loader, then
  Clock::time_point since_;
  std::vector<data::Batch> batches_;
  FitState state_;
  std::optional<NamedTensors> best_;  // weights, where no file holds them
  std::vector<Evaluation> evaluations_;
  std::optional<MetricsFile> file_;
  std::optional<TopWeights> top_;
  std::string watched_name_;
};

FitResult Trainer::fit(data::Loader& train, data::Loader* validation, const FitOptions& options,
                       const Events& events, const std::function<void(const Evaluation&)>& on_evaluation) {
  FitTask task(*this, train, validation, options, events, on_evaluation);
  RunOptions run_options;
  run_options.steps = options.steps;
  if (options.epochs > 0) {
    const std::int64_t steps = task.steps_for(options.epochs);
    run_options.steps = options.steps > 0 ? std::min(options.steps, steps) : steps;
  }
  run_options.seconds = options.seconds;
  run_options.rate = [&, lr = optimizer_.lr()](std::int64_t at) {
    return options.schedule ? (*options.schedule)(at) : lr;
  };
  if (!options.out.empty()) run_options.checkpoint_dir = (fs::path(options.out) / "checkpoints").string();
  run_options.checkpoint_every = options.checkpoint_every;
  run_options.keep = options.keep;
  run_options.resume = options.resume;
  // A run goes on only with the same data in the same order.
  nlohmann::json config = io::parse_json<nlohmann::json>(options.config);
  const data::LoaderOptions& o = train.options();
  config["trainer"] = {{"examples", o.sampler.size},
                       {"batch", o.batch},
                       {"seed", o.seed},
                       {"shuffle", o.shuffle},
                       {"drop_last", o.drop_last},
                       {"accumulate", options_.accumulate},
                       {"ema_decay", options_.ema_decay},
                       {"evaluate_every", options.evaluate_every},
                       {"schedule", options.schedule ? options.schedule->text() : ""}};
  if (options_.autocast)
    config["trainer"]["autocast"] = name_of(*options_.autocast);  // older runs lack the key
  run_options.config = io::dump_json(config);
  Events heard = events;
  heard.on_start = [&](std::int64_t step) {
    task.begin(step);
    if (events.on_start) events.on_start(step);
  };
  if (!model_.training()) model_.train();
  FitResult result;
  result.run = run(task, run_options, heard);
  if (result.run.stop != Stop::asked) {  // whoever asked may resume in the middle
    task.evaluate();
    if (options.restore_best) task.restore_best();
  }
  result.waiting = task.waiting();
  result.best = task.best();
  result.evaluations = task.take_evaluations();
  return result;
}

}  // namespace veldt::train
