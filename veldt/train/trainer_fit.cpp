// Trainer::fit(): the task for run(), with its evaluations and files.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/json.h"
#include "veldt/nn/audit.h"
#include "veldt/train/batch_slots.h"
#include "veldt/train/batch_source.h"
#include "veldt/train/fit_files.h"
#include "veldt/train/fit_state.h"
#include "veldt/train/following.h"
#include "veldt/tensor/graph.h"
#include "veldt/train/stretch.h"
#include "veldt/train/together.h"
#include "veldt/train/trainer.h"
#include "veldt/train/warn.h"

namespace veldt::train {
namespace {

namespace fs = std::filesystem;

void check_fit(const FitOptions& options, const BatchSource& source, const data::Loader* validation) {
  if (options.resume && options.out.empty())
    throw ConfigError("there is nothing to resume", "a run is resumed from its folder, and none was given",
                      "set FitOptions::out");
  if (options.adapt && !options.adapt->change)
    throw ConfigError("FitOptions::adapt does nothing", "it has no function",
                      "set its change, or leave it out");
  if (validation == nullptr && (options.patience > 0 || !options.watch.empty() || options.keep_top > 0))
    throw ConfigError("there is nothing to watch",
                      "patience, watch and keep_top need a validation set, and there is none",
                      "give one, or none of them");
  if (source.batches() == 0 && options.epochs > 0)
    throw ConfigError(str("a stream cannot be read for ", options.epochs, " epochs"),
                      "how many batches an epoch has is not known before it ends", "give steps or seconds");
  if (source.batches() == 0 && options.evaluate_every <= 0 && validation != nullptr)
    throw ConfigError("nothing says when a fit of a stream is evaluated",
                      "it would be after each epoch, whose length is not known",
                      "set FitOptions::evaluate_every");
  if ((options.schedule || !options.schedules.empty()) && options.seconds > 0 && options.steps <= 0 &&
      options.epochs <= 0)
    throw ConfigError("a run that is only limited by time has no schedule",
                      "a schedule depends on the number of steps, which is not known",
                      "give epochs or steps too");
}

// Null for a fit of one process without parts.
std::unique_ptr<Together> together_of(const FitOptions& options, BatchSource& source, const nn::Module& model,
                                      const Players& players, std::int64_t batches) {
  if (options.ranks == nullptr && options.parts == 0) return nullptr;
  if (options.parts > 0 && options.half_gradients)
    throw ConfigError("FitOptions::parts and half_gradients contradict each other",
                      "what is rounded when it is sent depends on the number of ranks", "leave one out");
  if (options.parts > 0 && options.sync_batch_norm)
    throw ConfigError("FitOptions::parts and sync_batch_norm contradict each other",
                      "parts are computed one after the other, and a batch norm would want all at once",
                      "leave one out");
  auto together = std::make_unique<Together>(options.ranks, model, players,
                                             TogetherOptions{.batches = batches,
                                                             .parts = options.parts,
                                                             .halves = options.half_gradients,
                                                             .share_optimizer = options.share_optimizer,
                                                             .sync_batch_norm = options.sync_batch_norm});
  if (const std::int64_t parts = together->parts().of; parts > source.batch_size())
    throw ConfigError(str("a batch of ", source.batch_size(), " examples cannot have ", parts, " parts"),
                      "each rank, and each part, has an example at least",
                      "use a larger batch, or fewer ranks or parts");
  source.take_parts(together->parts());
  return together;
}

// What a rank other than 0 writes and keeps: nothing.
FitOptions without_files(FitOptions options) {
  options.out.clear();
  options.resume = options.restore_best = false;
  options.keep_top = 0;
  return options;
}

bool may_repeat(const Together* together) { return together == nullptr || together->may_repeat(); }
std::string first_bad(const Together* together, const std::string& own) {
  return together == nullptr ? own : together->first_bad(own);
}

BestOptions kept_of(const FitOptions& options, const std::string& watched, bool larger_is_better) {
  return {options.out, options.restore_best, options.keep_top, options.metadata, watched, larger_is_better};
}

// A run can only be resumed with the same data in the same order.
std::string config_of(const FitOptions& options, const TrainerOptions& trainer, const Players& players,
                      const BatchSource& source) {
  nlohmann::json config = io::parse_json<nlohmann::json>(options.config);
  config["trainer"] = io::parse_json<nlohmann::json>(source.config());
  config["trainer"].update({{"accumulate", trainer.accumulate},
                            {"ema_decay", trainer.ema_decay},
                            {"evaluate_every", options.evaluate_every},
                            {"schedule", options.schedule ? options.schedule->text() : ""}});
  if (options.half_gradients) config["trainer"]["half_gradients"] = true;
  if (options.sync_batch_norm) config["trainer"]["sync_batch_norm"] = true;
  if (options.parts > 0) config["trainer"]["parts"] = options.parts;
  if (options.adapt) config["trainer"]["adapt"] = options.adapt->text;  // older runs have none of these
  if (options.follower != nullptr) config["trainer"]["follower"] = options.follower->text();
  if (trainer.autocast) config["trainer"]["autocast"] = name_of(*trainer.autocast);
  for (std::size_t i = 0; players.size() > 1 && i < players.size(); ++i) {
    const auto schedule = options.schedules.find(players[i].name);
    config["trainer"]["players"].push_back(
        {{"name", players[i].name},
         {"in_turn", players.in_turn()},
         {"schedule", schedule == options.schedules.end() ? "" : schedule->second.text()}});
  }
  return io::dump_json(config);
}

// A step takes one batch, or several that are accumulated.
std::int64_t steps_for(std::int64_t epochs, const BatchSource& source, std::int64_t accumulate) {
  std::int64_t batches = 0;
  if (__builtin_mul_overflow(epochs, source.batches(), &batches))
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

// The schedules of all players; of one without, the rate that its optimizer has now.
std::vector<optim::Schedule> schedules_of(const Players& players, const FitOptions& options) {
  if (players.size() > 1 && options.schedule)
    throw ConfigError(str("one schedule is for one optimizer, and there are ", players.size()),
                      "each player has a rate of its own", "name players in FitOptions::schedules");
  for (const auto& [name, schedule] : options.schedules) {
    std::size_t i = 0;
    while (i < players.size() && players[i].name != name) ++i;
    if (i == players.size() || players[i].name.empty())
      throw ConfigError(str("there is no player ", name), "a schedule was given for it",
                        players.size() > 1 ? "give one for a player's name" : "set FitOptions::schedule");
  }
  std::vector<optim::Schedule> all;
  for (std::size_t i = 0; i < players.size(); ++i) {
    const auto named = options.schedules.find(players[i].name);
    if (named != options.schedules.end())
      all.push_back(named->second);
    else
      all.push_back(options.schedule.value_or(optim::Constant{players[i].optimizer.lr()}));
  }
  return all;
}

// Of all players but the first, whose rate is the run's.
void set_rates(const Players& players, const std::vector<optim::Schedule>& schedules, std::int64_t step) {
  for (std::size_t i = 1; i < schedules.size(); ++i) players[i].optimizer.set_lr(schedules[i](step));
}

// By their names, if there are several.
Scores rates_of(const Players& players) {
  Scores rates;
  for (std::size_t i = 0; players.size() > 1 && i < players.size(); ++i)
    rates.push_back({players[i].name, players[i].optimizer.lr()});
  return rates;
}

// Warns of parameters without a gradient. Those of other players are constants in a turn, and not looked at.
void audit(const nn::Module& model, const Players& players, std::size_t turn, const Tensor& loss,
           const Events& events) {
  nn::GradientAudit found = nn::audit_gradients(model, loss);
  // The first scales may be too large; the scaler then lowers them.
  if (players.is_scaled())
    std::erase_if(found.findings, [](const auto& f) { return f.fault == nn::GradientFault::not_finite; });
  const std::string whose = players.in_turn() ? " of " + players[turn].name : "";
  if (!found.healthy()) warn(events, str("after the first step", whose, ": ", found.text()));
}

// The best evaluation of a fit: of this process, or of one that it continues.
std::optional<Evaluation> best_of(const std::vector<Evaluation>& evaluations, const FitState& state,
                                  const std::string& watched) {
  const auto last =
      std::find_if(evaluations.rbegin(), evaluations.rend(), [](const Evaluation& e) { return e.best; });
  if (last != evaluations.rend()) return *last;
  if (!state.best) return std::nullopt;
  return Evaluation{.step = state.best->step, .scores = {{watched, state.best->score}}, .best = true};
}

// The means over the steps since the last evaluation, which begin anew. `losses` names those of players.
void take_mean_losses(FitState& state, const Scores& losses, Evaluation& e) {
  const auto steps = static_cast<double>(std::exchange(state.steps, 0));
  e.train_loss = std::exchange(state.train_loss, 0) / steps;
  for (const auto& [name, last] : losses)
    e.train_losses.push_back({name, std::exchange(state.train_losses[name], 0) / steps});
}

// With the times of the stretch that has not ended.
FitState with_stretch(FitState state, const Stretch& stretch) {
  state.seconds += stretch.seconds();
  state.waited += stretch.waited();
  return state;
}

// A line of metrics.csv.
void add_measures(FitFiles& files, const Evaluation& e) {
  std::vector<std::string> columns{"step", "epoch", "train_loss", "learning_rate", "seconds", "waiting"};
  std::vector<double> values{
      static_cast<double>(e.step), e.epoch, e.train_loss, e.learning_rate, e.seconds, e.waiting};
  const auto add = [&](const std::string& prefix, const Scores& scores) {
    for (const auto& [name, value] : scores) {
      columns.push_back(prefix + name);
      values.push_back(value);
    }
  };
  add("validation_", e.scores);
  add("train_loss_", e.train_losses);
  add("learning_rate_", e.learning_rates);
  files.add(columns, values);
}

}  // namespace

class Trainer::FitTask final : public Task {
 public:
  FitTask(Trainer& trainer, BatchSource& source, data::Loader* validation, const FitOptions& options,
          const Events& events, const std::function<void(const Evaluation&)>& on_evaluation)
      : trainer_(trainer),
        source_(source),
        validation_(validation),
        options_(options),
        events_(events),
        on_evaluation_(on_evaluation),
        every_(options.evaluate_every > 0 ? options.evaluate_every
                                          : steps_for(1, source, trainer.options_.accumulate)),
        schedules_(schedules_of(trainer.players_, options)),
        follower_(options.follower, trainer.players_.averages().any(), trainer.players_.is_scaled(),
                  options.share_optimizer),
        slots_(trainer.device(), options.record, options.adapt),
        watched_(validation == nullptr ? "" : trainer.watched(options.watch)),
        files_(trainer.model_, trainer.players_.averages(),
               kept_of(options, watched_, trainer.larger_is_better(watched_)), events),
        stretch_(source) {
    check_fit(options, source, validation);
  }

  void begin(std::int64_t step) {
    step_ = step;
    files_.begin(step);
    follower_.begin(step);
    stretch_.begin();
  }

  const std::vector<optim::Schedule>& schedules() const { return schedules_; }
  nn::Module& model() override { return trainer_.model_; }
  // The first player's, whose rate and state are the run's; those of the others are this task's.
  optim::Optimizer& optimizer() override { return trainer_.players_[0].optimizer; }

  void prepare(std::int64_t step, std::int64_t) override {
    slots_.take(source_, step, trainer_.options_.accumulate * source_.parts().count());
    if (trainer_.together_) trainer_.together_->begin(step, slots_.shares());
    set_rates(trainer_.players_, schedules_, step);
    step_ = step + 1;
  }

  Tensor loss() override { return trainer_.loss_of(0, slots_.batches().front()); }

  Tensor differentiate() override {
    return trainer_.differentiate(slots_.batches(), [this](std::size_t turn, const Tensor& part) {
      if (audited_ == turn) audit(trainer_.model_, trainer_.players_, audited_++, part, events_);
    });
  }

  void take_step() override { trainer_.take_step(); }
  bool share_optimizer() override { return trainer_.together_->share_optimizer(); }
  Scores losses() const override { return trainer_.losses(); }
  std::optional<std::string> first_bad_parameter() override {
    return trainer_.players_.first_bad_parameter();
  }

  // Only after the first step has shown that every parameter gets a gradient.
  bool repeats() const override {
    return audited_ == trainer_.players_.turns() && slots_.same() && may_repeat(trainer_.together_);
  }
  std::string bad_data() const override { return first_bad(trainer_.together_, slots_.first_not_finite()); }

  void stepped(double loss) override {
    state_.train_loss += loss;
    ++state_.steps;
    for (const auto& [name, value] : losses()) state_.train_losses[name] += value;
    follower_.stepped(step_);
    trainer_.players_.averages().update();
    if (every_ > 0 && step_ % every_ == 0) evaluate();
  }

  // Also after the last step, where a run ends between two.
  void evaluate() {
    if (state_.steps == 0) return;
    Evaluation e{.step = step_, .epoch = source_.epochs(step_ * trainer_.options_.accumulate)};
    take_mean_losses(state_, losses(), e);
    e.learning_rate = optimizer().lr();
    e.learning_rates = rates_of(trainer_.players_);
    e.waiting = stretch_.share_waited();
    state_.waited += stretch_.waited();
    if (validation_ != nullptr) {
      e.scores = trainer_.evaluate(*validation_, options_.ranks, {});
      e.best = follower_.settled(step_) && files_.judge(step_, score(e.scores, watched_), state_);
    }
    state_.seconds += stretch_.seconds();
    e.seconds = state_.seconds;
    stretch_.begin();
    add_measures(files_, e);
    evaluations_.push_back(e);
    if (on_evaluation_) on_evaluation_(e);
  }

  void saving() override { files_.write(); }
  NamedTensors own_state() override { return follower_.with_state(trainer_.players_.state()); }
  void load_own_state(const std::map<std::string, Tensor>& saved) override {
    trainer_.players_.load_state(saved);
    follower_.load_state(saved);
    audited_ = trainer_.players_.turns();
  }

  std::string own_json() const override {
    FitState now = with_stretch(state_, stretch_);
    now.stream = source_.place();
    return to_json(now);
  }
  void load_own_json(const std::string& saved) override {
    state_ = fit_state_from(saved);
    source_.go_to(state_.stream);
  }

  bool reached(std::int64_t) override { return was_reached(); }
  bool was_reached() const override {
    return options_.patience > 0 && state_.without_better >= options_.patience;
  }

  void finish(FitResult& result) {
    if (result.run.stop != Stop::asked) {  // the run may be resumed in the middle
      evaluate();
      files_.write();
      if (options_.restore_best) files_.restore(step_, state_);
      follower_.finish();
      if (trainer_.together_) trainer_.together_->share_model(trainer_.model_);  // rank 0's is a file's
    }
    const FitState all = with_stretch(state_, stretch_);  // over all resumptions
    result.waiting = all.seconds > 0 ? all.waited / all.seconds : 0;
    result.best = best_of(evaluations_, state_, watched_);
    result.evaluations = std::move(evaluations_);
  }

 private:
  Trainer& trainer_;
  BatchSource& source_;
  data::Loader* validation_;
  const FitOptions& options_;
  const Events& events_;
  const std::function<void(const Evaluation&)>& on_evaluation_;
  std::int64_t every_;
  std::vector<optim::Schedule> schedules_;  // of the players
  Following follower_;
  std::size_t audited_ = 0;  // turns whose gradients were looked at
  BatchSlots slots_;
  std::string watched_;
  FitFiles files_;
  Stretch stretch_;
  std::int64_t step_ = 0;  // taken so far
  FitState state_;
  std::vector<Evaluation> evaluations_;
};

FitResult Trainer::fit(data::Loader& train, data::Loader* validation, const FitOptions& options,
                       const Events& events, const std::function<void(const Evaluation&)>& on_evaluation) {
  LoaderSource source(train);
  return fit(source, validation, options, events, on_evaluation);
}

FitResult Trainer::fit(data::StreamLoader& train, data::Loader* validation, const FitOptions& options,
                       const Events& events, const std::function<void(const Evaluation&)>& on_evaluation) {
  StreamSource source(train);
  return fit(source, validation, options, events, on_evaluation);
}

FitResult Trainer::fit(BatchSource& source, data::Loader* validation, const FitOptions& given,
                       const Events& events, const std::function<void(const Evaluation&)>& on_evaluation) {
  const bool has_files = given.ranks == nullptr || given.ranks->rank() == 0;
  const FitOptions options = has_files ? given : without_files(given);
  const std::unique_ptr<Together> together =
      together_of(options, source, model_, players_, options_.accumulate);
  const struct During {
    During(Trainer& t, Together* now) : trainer(t) { trainer.together_ = now; }
    ~During() { trainer.together_ = nullptr; }
    Trainer& trainer;
  } during(*this, together.get());
  FitTask task(*this, source, validation, options, events, on_evaluation);
  RunOptions run_options;
  run_options.steps = options.steps;
  if (options.epochs > 0) {
    const std::int64_t steps = steps_for(options.epochs, source, options_.accumulate);
    run_options.steps = options.steps > 0 ? std::min(options.steps, steps) : steps;
  }
  for (const optim::Schedule& schedule : task.schedules())
    check_schedule(schedule, run_options.steps, events);
  run_options.seconds = options.seconds;
  run_options.pause = options.pause;
  run_options.rate = task.schedules().front();
  if (!options.out.empty()) run_options.checkpoint_dir = (fs::path(options.out) / "checkpoints").string();
  run_options.checkpoint_every = options.checkpoint_every;
  run_options.keep = options.keep;
  run_options.resume = options.resume;
  run_options.config = config_of(options, options_, players_, source);
  run_options.ranks = options.ranks;
  run_options.any_ranks = options.parts > 0;
  Events heard = events;
  heard.on_start = [&](std::int64_t step) {
    task.begin(step);
    if (events.on_start) events.on_start(step);
  };
  if (!model_.training()) model_.train();
  FitResult result;
  try {
    result.run = run(task, run_options, heard);
  } catch (...) {  // what was measured before it diverged
    task.saving();
    throw;
  }
  task.finish(result);
  if (together) together->unshare_optimizer();
  // Rank 0's begin again with what it has restored.
  if (!has_files && given.restore_best && result.run.stop != Stop::asked) players_.averages().restart();
  return result;
}

}  // namespace veldt::train
