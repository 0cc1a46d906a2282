// The task of an agent's rounds for train::run().
#include "veldt/rl/fit.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/json.h"
#include "veldt/ops/create.h"
#include "veldt/rl/recorded.h"
#include "veldt/train/fit_files.h"
#include "veldt/train/fit_state.h"
#include "veldt/train/warn.h"

namespace veldt::rl {
namespace {

constexpr std::int64_t kRecent = 100;  // episodes whose mean is the return of training

// The returns of the last episodes of training.
class RecentReturns {
 public:
  RecentReturns() : last_(static_cast<std::size_t>(kRecent), 0) {}
  std::int64_t episodes() const { return episodes_; }
  void add(const std::vector<Episode>& ended) {
    for (const Episode& episode : ended)
      last_[static_cast<std::size_t>(episodes_++ % kRecent)] = episode.total;
  }
  double mean() const {
    const std::int64_t count = std::min(episodes_, kRecent);
    return count == 0
               ? std::nan("")
               : std::accumulate(last_.begin(), last_.begin() + count, 0.0) / static_cast<double>(count);
  }
  Tensor saved() const {
    std::vector<double> all = last_;
    all.push_back(static_cast<double>(episodes_));
    return Tensor::from<double>({kRecent + 1}, all);
  }
  void load(const Tensor& saved) {
    std::vector<double> all = saved.values<double>();
    const bool are_finite = std::all_of(all.begin(), all.end(), [](double x) { return std::isfinite(x); });
    if (!are_finite || all.back() < 0 || all.back() >= 0x1p53)
      throw IoError(IoError::Kind::corrupt, "the saved run holds numbers that no run has",
                    "they are those of its episodes", "start a new run");
    episodes_ = static_cast<std::int64_t>(all.back());
    all.pop_back();
    last_ = std::move(all);
  }

 private:
  std::vector<double> last_;
  std::int64_t episodes_ = 0;
};

// A line of metrics.csv.
void add_line(train::FitFiles& files, const Evaluation& e) {
  std::vector<std::string> columns{"step",
                                   "episodes",
                                   "train_return",
                                   "validation_return",
                                   "validation_deviation",
                                   "validation_length",
                                   "loss",
                                   "learning_rate",
                                   "seconds"};
  std::vector<double> values{static_cast<double>(e.step),
                             static_cast<double>(e.episodes),
                             e.train_return,
                             e.returns.mean,
                             e.returns.deviation,
                             e.returns.length,
                             e.loss,
                             e.learning_rate,
                             e.seconds};
  for (const auto& [name, value] : e.measures) columns.push_back(name), values.push_back(value);
  files.add(columns, values);
}

class AgentTask final : public train::Task {
 public:
  AgentTask(Agent& agent, const FitOptions& options, const train::Events& events,
            const std::function<void(const Evaluation&)>& on_evaluation)
      : agent_(agent),
        options_(options),
        events_(events),
        on_evaluation_(on_evaluation),
        every_((options.evaluate_every + agent.steps_per_update() - 1) / agent.steps_per_update()),
        files_(
            agent.policy(), averages_,
            {.out = options.out, .metadata = options.metadata, .score = "return", .larger_is_better = true},
            events) {}

  void begin(std::int64_t round) {
    round_ = round;
    files_.begin(steps());
    since_ = Clock::now();
  }
  std::int64_t steps() const { return round_ * agent_.steps_per_update(); }

  nn::Module& model() override { return agent_.policy(); }
  optim::Optimizer& optimizer() override { return agent_.optimizer(); }
  void prepare(std::int64_t round, std::int64_t) override { round_ = round + 1; }
  Tensor loss() override { return full({}, agent_.update(), DType::f64); }
  // An agent takes its own steps of the optimizer, several in a round.
  Tensor differentiate() override { return loss(); }
  void take_step() override {}

  void stepped(double loss) override {
    recent_.add(agent_.episodes());
    state_.train_loss += loss;
    ++state_.steps;
    if (round_ % every_ == 0) evaluate();
  }

  void saving() override { files_.write(); }
  bool reached(std::int64_t) override { return was_reached(); }
  bool was_reached() const override {
    return (options_.patience > 0 && state_.without_better >= options_.patience) ||
           (options_.goal && state_.best && state_.best->score >= *options_.goal);
  }

  NamedTensors own_state() override {
    NamedTensors all = agent_.saved();
    all.push_back({"episodes", recent_.saved()});
    return all;
  }
  void load_own_state(const std::map<std::string, Tensor>& saved) override {
    agent_.load(saved);
    recent_.load(saved.at("episodes"));
  }
  std::string own_json() const override {
    train::FitState now = state_;
    now.seconds += passed();
    return train::to_json(now);
  }
  void load_own_json(const std::string& saved) override { state_ = train::fit_state_from(saved); }

  double train_return() const { return recent_.mean(); }

  void finish(FitResult& result) {
    if (result.run.stop != train::Stop::asked) {  // the run may be resumed in the middle
      evaluate();
      files_.write();
      files_.restore(steps(), state_);
    }
    if (state_.best) {
      result.best_step = state_.best->step;
      result.best_return = state_.best->score;
    }
    result.train_return = train_return();
    result.evaluations = std::move(evaluations_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  double passed() const { return std::chrono::duration<double>(Clock::now() - since_).count(); }

  // Each with the same starts.
  void evaluate() {
    if (state_.steps == 0) return;
    Evaluation e;
    e.step = steps();
    e.episodes = recent_.episodes();
    e.train_return = train_return();
    e.loss = std::exchange(state_.train_loss, 0) / static_cast<double>(std::exchange(state_.steps, 0));
    e.learning_rate = optimizer().lr();
    e.measures = agent_.measures();
    e.returns = returns_of(played());
    e.best = files_.judge(e.step, e.returns.mean, state_);
    state_.seconds += passed();
    e.seconds = state_.seconds;
    since_ = Clock::now();
    add_line(files_, e);
    evaluations_.push_back(e);
    if (on_evaluation_) on_evaluation_(e);
  }

  std::vector<Episode> played() {
    std::vector<Episode> episodes = play(agent_.policy(), agent_.world().shared(),
                                         {.episodes = options_.evaluation_episodes,
                                          .seed = options_.seed,
                                          .max_episode_steps = options_.max_episode_steps});
    const EnvironmentSpec& spec = agent_.world().spec();
    const bool is_cut = (spec.time_limit == 0 || spec.time_limit > options_.max_episode_steps) &&
                        std::any_of(episodes.begin(), episodes.end(),
                                    [&](const Episode& e) { return e.length == options_.max_episode_steps; });
    if (is_cut && !std::exchange(told_of_cut_, true))
      train::warn(events_, str("episodes of evaluations are cut off after ", options_.max_episode_steps,
                               " steps (FitOptions::max_episode_steps): the time limit of ", spec.name,
                               " is ", spec.time_limit == 0 ? "none" : str(spec.time_limit)));
    return episodes;
  }

  Agent& agent_;
  const FitOptions& options_;
  const train::Events& events_;
  const std::function<void(const Evaluation&)>& on_evaluation_;
  std::int64_t every_;
  train::Averages averages_;  // none
  train::FitFiles files_;
  std::int64_t round_ = 0;
  RecentReturns recent_;
  train::FitState state_;
  Clock::time_point since_ = Clock::now();
  std::vector<Evaluation> evaluations_;
  bool told_of_cut_ = false;
};

// In steps of the environment.
train::Progress in_steps(train::Progress p, std::int64_t per_round, double train_return) {
  p.step *= per_round;
  p.total_steps *= per_round;
  p.steps_per_second *= static_cast<double>(per_round);
  if (!std::isnan(train_return)) p.measure = {"return", train_return};
  return p;
}

std::string config_with(const FitOptions& options, const Agent& agent) {
  nlohmann::json config = io::parse_json<nlohmann::json>(options.config);
  config["fit"] = {{"round", agent.steps_per_update()},
                   {"schedule", options.schedule ? options.schedule->text() : ""}};
  return io::dump_json(config);
}

}  // namespace

std::vector<Episode> play(const Policy& policy, const EnvironmentPtr& environment,
                          const PlayOptions& options) {
  if (options.max_episode_steps < 1)
    throw ConfigError("there is nothing to play",
                      str("episodes end after ", options.max_episode_steps, " steps"), "give 1 or more");
  VectorEnvironment world(environment, options.episodes, options.seed);
  policy.check_fits(world.spec());
  const std::int64_t copies = options.episodes, width = world.spec().action_size();
  Recorded look(copies, world.spec().observation_size(), policy.named_parameters().at(0).tensor.device(),
                [&](const Tensor& x) { return policy(x); });
  std::vector<float> outputs;
  std::vector<std::int64_t> choices(static_cast<std::size_t>(copies));
  std::vector<Episode> ended;
  std::vector<char> is_over(static_cast<std::size_t>(copies), 0);
  const auto tell = [&](std::int64_t i, const std::vector<double>& state) {
    if (options.on_state) options.on_state(i, state);
  };
  for (std::int64_t i = 0; i < copies; ++i) tell(i, world.state(i));
  for (std::int64_t step = 1; std::ssize(ended) < copies; ++step) {
    if (options.should_stop && options.should_stop()) break;
    look(world.observations());
    fetch(look.output(), outputs);
    if (world.spec().is_discrete()) {
      for (std::int64_t i = 0; i < copies; ++i)
        choices[static_cast<std::size_t>(i)] =
            best_choice({outputs.data() + i * width, static_cast<std::size_t>(width)});
      world.step(choices);
    } else {
      world.step(outputs);
    }
    for (std::int64_t i = 0; i < copies; ++i)
      if (is_over[static_cast<std::size_t>(i)] == 0)
        tell(i, world.ended(i) ? world.last_state(i) : world.state(i));
    for (const Episode& episode : world.episodes())
      if (char& over = is_over[static_cast<std::size_t>(episode.copy)]; over == 0)
        over = 1, ended.push_back(episode);
    for (std::int64_t i = 0; step == options.max_episode_steps && i < copies; ++i)
      if (is_over[static_cast<std::size_t>(i)] == 0) ended.push_back({i, step, world.total(i)});
  }
  std::sort(ended.begin(), ended.end(), [](const Episode& a, const Episode& b) { return a.copy < b.copy; });
  return ended;
}

Returns returns_of(const std::vector<Episode>& episodes) {
  Returns all;
  const auto n = static_cast<double>(episodes.size());
  for (const Episode& e : episodes) all.mean += e.total / n, all.length += static_cast<double>(e.length) / n;
  for (const Episode& e : episodes) all.deviation += (e.total - all.mean) * (e.total - all.mean) / n;
  all.deviation = std::sqrt(all.deviation);
  return all;
}

FitResult fit(Agent& agent, const FitOptions& options, const train::Events& events,
              const std::function<void(const Evaluation&)>& on_evaluation) {
  if (!(options.seconds >= 0) || (options.goal && !std::isfinite(*options.goal)))
    throw ConfigError("a fit of an agent cannot end so",
                      str("its seconds are ", options.seconds, ", its goal is ", options.goal.value_or(0)),
                      "give finite numbers");
  if (options.evaluate_every < 1 || options.evaluation_episodes < 1 || options.max_episode_steps < 1)
    throw ConfigError("a fit of an agent has to be evaluated",
                      str("every ", options.evaluate_every, " steps by ", options.evaluation_episodes,
                          " episodes of ", options.max_episode_steps, " steps"),
                      "give 1 or more of each");
  if (options.schedule && options.seconds > 0 && options.steps <= 0)
    throw ConfigError("a run that is only limited by time has no schedule",
                      "a schedule depends on the number of steps, which is not known",
                      "give steps too, or schedule = \"constant\" in a recipe");
  const std::int64_t round = agent.steps_per_update();
  AgentTask task(agent, options, events, on_evaluation);
  const auto rounds = [&](std::int64_t steps) { return (steps + round - 1) / round; };
  train::RunOptions o;
  o.steps = rounds(options.steps);
  o.seconds = options.seconds;
  o.pause = rounds(options.pause);
  o.rate = options.schedule.value_or(optim::Constant{agent.optimizer().lr()});
  if (!options.out.empty()) o.checkpoint_dir = (std::filesystem::path(options.out) / "checkpoints").string();
  o.checkpoint_every = options.checkpoint_every;
  o.keep = options.keep;
  o.resume = options.resume;
  o.config = config_with(options, agent);
  train::Events heard = events;
  heard.on_start = [&](std::int64_t first) {
    task.begin(first);
    if (events.on_start) events.on_start(first * round);
  };
  if (events.on_progress)
    heard.on_progress = [&](const train::Progress& p) {
      events.on_progress(in_steps(p, round, task.train_return()));
    };
  if (events.on_step)
    heard.on_step = [&](std::int64_t step, double loss) { events.on_step(step * round, loss); };
  FitResult result;
  try {
    result.run = train::run(task, o, heard);
  } catch (...) {  // what was measured before it failed
    task.saving();
    throw;
  }
  result.run.steps *= round;
  task.finish(result);
  return result;
}

}  // namespace veldt::rl
