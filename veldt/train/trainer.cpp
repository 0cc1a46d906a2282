#include "veldt/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/safetensors.h"
#include "veldt/nn/audit.h"
#include "veldt/nn/losses.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"
#include "veldt/train/metrics_file.h"

namespace veldt::train {
namespace {

namespace fs = std::filesystem;

Tensor first_of(const nn::Module& model, const data::Batch& batch) { return model(batch.at(0)); }

Tensor cross_entropy_of(const Tensor& output, const data::Batch& batch) {
  return cross_entropy(output, batch.back());
}

// In evaluation mode while one lives.
class Evaluating {
 public:
  explicit Evaluating(nn::Module& model) : model_(model), before_(model.training()) { model.eval(); }
  ~Evaluating() { model_.train(before_); }
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;

 private:
  nn::Module& model_;
  bool before_;
  NoGrad off_;
};

data::Batch moved(data::Batch batch, Device device) {
  for (Tensor& t : batch) t = to(t, device);
  return batch;
}

Tensor copied(const Tensor& t) {
  Tensor copy = empty(t.shape(), t.dtype(), t.device());
  copy.assign(t);
  return copy;
}

}  // namespace

// What a fit remembers between steps: it is in every checkpoint, as numbers of one tensor.
struct FitState {
  double train_loss = 0, steps = 0;  // since the last evaluation
  double best = 0, has_best = 0, best_step = 0;
  double without_better = 0;  // evaluations
  double seconds = 0;         // of evaluations so far, and the steps before them

  static constexpr std::int64_t kCount = 7;
  double* numbers() { return &train_loss; }
};

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
        every_(options.evaluate_every > 0 ? options.evaluate_every : steps_of_epoch()),
        device_(trainer.optimizer_.slab().values().device()) {
    const data::LoaderOptions& o = train.options();
    records_ = options.record.value_or(o.drop_last || o.sampler.size % o.batch == 0);
    if (!options.out.empty()) file_.emplace((fs::path(options.out) / "metrics.csv").string());
  }

  // A step takes one batch, or several that are accumulated.
  std::int64_t steps_of_epoch() const {
    return std::max<std::int64_t>(1, train_.batches() / trainer_.options_.accumulate);
  }

  void begin(std::int64_t step) {
    evaluated_ = step;
    if (file_) file_->begin(step);
    since_ = began_ = Clock::now();
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
    optimizer().zero_grad();
    Tensor sum;
    for (const data::Batch& batch : batches_) {
      const Tensor part = loss_of(batch) / static_cast<double>(batches_.size());
      part.backward();
      sum = sum.defined() ? sum + part.detach() : part.detach();
      if (!audited_) audit(part);
    }
    return sum;
  }

  // Not before the first step has shown that every parameter learns.
  bool repeats() const override { return records_ && audited_; }
  double psnr() override { return std::numeric_limits<double>::quiet_NaN(); }
  std::map<std::string, std::string> metadata() const override { return {}; }

  void stepped(double loss) override {
    state_.train_loss += loss;
    ++state_.steps;
    if (trainer_.ema_) trainer_.ema_->update();
    if (step_ % every_ == 0) evaluate();
  }

  // Also after the last step, where a run ends between two.
  void evaluate() {
    if (evaluated_ == step_ || state_.steps == 0) return;
    evaluated_ = step_;
    const auto now = Clock::now();
    Evaluation e;
    e.step = step_;
    e.epoch = static_cast<double>(step_) / static_cast<double>(steps_of_epoch());
    e.train_loss = std::exchange(state_.train_loss, 0) / std::exchange(state_.steps, 0);
    e.learning_rate = optimizer().lr();
    const double passed = seconds(since_, now);
    e.waiting = passed > 0 ? (train_.waited() - waited_) / passed : 0;
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
    const Tensor numbers = empty({FitState::kCount}, DType::f64);
    std::copy_n(state_.numbers(), FitState::kCount, numbers.data<double>());
    NamedTensors all{{"fit", numbers}};
    if (trainer_.ema_)
      for (auto& [name, tensor] : trainer_.ema_->state()) all.push_back({"ema." + name, tensor});
    return all;
  }

  void load_own_state(const std::map<std::string, Tensor>& saved) override {
    const Tensor numbers = to(saved.at("fit"), DType::f64);
    std::copy_n(numbers.data<double>(), FitState::kCount, state_.numbers());
    NamedTensors average;
    for (const auto& [name, tensor] : saved)
      if (name.starts_with("ema.")) average.push_back({name.substr(4), tensor});
    if (trainer_.ema_) trainer_.ema_->load_state(average);
    audited_ = true;
  }

  bool reached(std::int64_t) override {
    return options_.patience > 0 && state_.without_better >= static_cast<double>(options_.patience);
  }

  // Puts the weights of the best evaluation back.
  void restore_best() {
    if (state_.has_best == 0 || static_cast<std::int64_t>(state_.best_step) == step_) {
      if (state_.has_best != 0 && trainer_.ema_) trainer_.ema_->copy_to_parameters();
      return;
    }
    if (best_)
      model().load_state(*best_);
    else if (!options_.out.empty())
      model().load_state(io::read_safetensors(best_path()).tensors);
  }

  std::vector<Evaluation> take_evaluations() { return std::move(evaluations_); }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  Tensor loss_of(const data::Batch& batch) const {
    const Tensor value = trainer_.options_.loss(trainer_.options_.forward(trainer_.model_, batch), batch);
    if (value.numel() != 1)
      throw ShapeError(str("the loss has the shape ", value.shape()),
                       "training needs one number to make smaller", "give a loss that is a mean or a sum");
    return value;
  }

  void audit(const Tensor& loss) {
    audited_ = true;
    const nn::GradientAudit found = nn::audit_gradients(model(), loss);
    if (!found.healthy() && events_.on_warning) events_.on_warning("after the first step: " + found.text());
  }

  void take(data::Batch batch, data::Batch& into) {
    if (!records_ || into.empty()) {
      into = moved(std::move(batch), device_);
      return;
    }
    for (std::size_t i = 0; i < into.size(); ++i) {
      if (batch.at(i).shape() != into[i].shape())
        throw ConfigError(str("a batch has the shape ", batch[i].shape(), " after one of ", into[i].shape()),
                          "a recorded step needs batches of one shape", "set FitOptions::record to false");
      into[i].assign(batch[i]);
    }
  }

  std::string best_path() const { return (fs::path(options_.out) / "best.safetensors").string(); }

  // Whether the watched score is the best so far; then the weights are kept.
  void judge(Evaluation& e) {
    const std::string watched = watched_score(e.scores);
    const double value = score(e.scores, watched);
    const bool larger = trainer_.larger_is_better(watched);
    e.best =
        !std::isnan(value) && (state_.has_best == 0 || (larger ? value > state_.best : value < state_.best));
    if (!e.best) {
      ++state_.without_better;
      return;
    }
    state_.best = value, state_.has_best = 1, state_.best_step = static_cast<double>(step_);
    state_.without_better = 0;
    std::optional<optim::Ema::Swapped> averaged;
    if (trainer_.ema_) averaged.emplace(*trainer_.ema_);
    if (!options_.out.empty()) {
      io::write_safetensors(best_path(), model().state(),
                            {{"step", std::to_string(step_)}, {watched, str(value)}});
    } else if (options_.restore_best) {
      best_.emplace();
      for (const auto& [name, tensor] : model().state()) best_->push_back({name, copied(tensor)});
    }
  }

  std::string watched_score(const Scores& scores) const {
    return !options_.watch.empty() ? options_.watch : scores.size() > 1 ? scores[1].first : "loss";
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
    file_->add(columns, values);
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
  std::int64_t step_ = 0, evaluated_ = 0;  // steps taken, and at the last evaluation
  double waited_ = 0;                      // by the loader, then
  Clock::time_point since_, began_;
  std::vector<data::Batch> batches_;
  FitState state_;
  std::optional<NamedTensors> best_;  // weights, where no file holds them
  std::vector<Evaluation> evaluations_;
  std::optional<MetricsFile> file_;
};

Trainer::Trainer(nn::Module& model, optim::Optimizer& optimizer, TrainerOptions options)
    : model_(model), optimizer_(optimizer), options_(std::move(options)) {
  if (options_.accumulate < 1)
    throw ConfigError(str("cannot accumulate ", options_.accumulate, " batches"), "a step needs one at least",
                      "give 1 for a step after each batch");
  if (!options_.forward) options_.forward = first_of;
  if (!options_.loss) options_.loss = cross_entropy_of;
  if (options_.ema_decay > 0) ema_.emplace(optimizer, optim::EmaOptions{.decay = options_.ema_decay});
}

bool Trainer::larger_is_better(const std::string& name) const {
  for (const MetricMaker& make : options_.metrics)
    if (const std::unique_ptr<Metric> metric = make(); metric->name() == name)
      return metric->larger_is_better();
  return false;  // a loss
}

FitResult Trainer::fit(data::Loader& train, data::Loader* validation, const FitOptions& options,
                       const Events& events, const std::function<void(const Evaluation&)>& on_evaluation) {
  FitTask task(*this, train, validation, options, events, on_evaluation);
  RunOptions run_options;
  run_options.steps = options.steps;
  if (options.epochs > 0) {
    const std::int64_t steps = options.epochs * task.steps_of_epoch();
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
  run_options.config = options.config;
  Events heard = events;
  heard.on_start = [&](std::int64_t step) {
    task.begin(step);
    if (events.on_start) events.on_start(step);
  };
  model_.train();
  FitResult result;
  result.run = run(task, run_options, heard);
  if (result.run.stop != Stop::asked) {  // whoever asked may resume in the middle
    task.evaluate();
    if (options.restore_best && validation != nullptr) task.restore_best();
  }
  result.evaluations = task.take_evaluations();
  for (const Evaluation& e : result.evaluations)
    if (e.best) result.best = e;
  return result;
}

Scores Trainer::evaluate(data::Loader& loader) {
  const Evaluating now(model_);
  std::optional<optim::Ema::Swapped> averaged;
  if (ema_ && ema_->updates() > 0) averaged.emplace(*ema_);
  std::vector<std::unique_ptr<Metric>> metrics;
  for (const MetricMaker& make : options_.metrics) metrics.push_back(make());
  const Device device = optimizer_.slab().values().device();
  double sum = 0, count = 0;
  for (const data::Batch& given : loader.epoch(0)) {
    const data::Batch batch = moved(given, device);
    const Tensor output = options_.forward(model_, batch);
    const auto examples = static_cast<double>(batch.at(0).size(0));
    sum += options_.loss(output, batch).item() * examples;
    count += examples;
    for (const auto& metric : metrics) metric->add(output, batch);
  }
  Scores scores{{"loss", sum / count}};
  for (const auto& metric : metrics) scores.push_back({metric->name(), metric->value()});
  return scores;
}

Tensor Trainer::predict(data::Loader& loader) {
  const Evaluating now(model_);
  std::optional<optim::Ema::Swapped> averaged;
  if (ema_ && ema_->updates() > 0) averaged.emplace(*ema_);
  const Device device = optimizer_.slab().values().device();
  std::vector<Tensor> outputs;
  for (const data::Batch& batch : loader.epoch(0))
    outputs.push_back(options_.forward(model_, moved(batch, device)));
  return concat(outputs, 0);
}

}  // namespace veldt::train
