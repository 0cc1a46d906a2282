// Trains an agent: rounds, evaluations, measures in files, checkpoints that resume with the same bits. It
// uses run() of train/loop.h, whose step is a round of the agent; here steps are those of the environment, of
// all copies together.
// Tests: tests/rl/ppo_test.cpp, tests/rl/dqn_test.cpp, tests/app/play_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "veldt/optim/schedule.h"
#include "veldt/rl/agent.h"
#include "veldt/train/events.h"
#include "veldt/train/loop.h"

namespace veldt::rl {

// Of an episode that is played or evaluated: one without a time limit, or with a larger one, may never end.
inline constexpr std::int64_t kMostSteps = 10'000;

struct PlayOptions {
  std::int64_t episodes = 100;
  std::uint64_t seed = 1;
  std::int64_t max_episode_steps = kMostSteps;  // a longer episode is cut off, whatever its time limit
  // Called for each episode with its first state, those after each step, and the last.
  std::function<void(std::int64_t episode, const std::vector<double>& state)> on_state = {};
  std::function<bool()> should_stop = {};
};

// One episode each of copies side by side, by the policy's best action each time. Throws what
// VectorEnvironment throws; of a play that was stopped there are fewer episodes.
std::vector<Episode> play(const Policy& policy, const EnvironmentPtr& environment,
                          const PlayOptions& options);

// The mean and deviation of returns, and the mean length.
struct Returns {
  double mean = 0, deviation = 0, length = 0;
};
Returns returns_of(const std::vector<Episode>& episodes);

struct FitOptions {
  // The run ends at the first of these limits that is above 0.
  std::int64_t steps = 0;
  double seconds = 0;
  // Above 0: stops after so many steps as if it had been asked to; a later fit may resume it.
  std::int64_t pause = 0;
  // The rate of each round; without one the optimizer's stays.
  std::optional<optim::Schedule> schedule = {};
  std::int64_t evaluate_every = 10'000;  // steps, rounded up to whole rounds
  std::int64_t evaluation_episodes = 20;
  // The longest episode of an evaluation; a longer one is cut off, with a warning.
  std::int64_t max_episode_steps = kMostSteps;
  // Evaluations without a better mean return after which the run ends; 0: never.
  std::int64_t patience = 0;
  // The run ends when an evaluation's mean return is as high.
  std::optional<double> goal = {};
  std::uint64_t seed = 1;  // of evaluations
  // A folder for metrics.csv, metrics.jsonl, best.safetensors and checkpoints/. Empty: nothing is written.
  std::string out = {};
  bool resume = false;
  double checkpoint_every = 30;  // seconds
  int keep = 3;
  // The configuration of the run, as a JSON object: a run is only resumed with the same one.
  std::string config = "{}";
  // What best.safetensors says of itself in its metadata, besides "step" and "return".
  std::map<std::string, std::string> metadata = {};
};

struct Evaluation {
  std::int64_t step = 0;
  std::int64_t episodes = 0;  // ended in training so far
  double train_return = 0;    // the mean of the last 100 of them; NaN before the first
  Returns returns = {};       // of the evaluation's own episodes
  double loss = 0;            // mean over the rounds since the last one
  double learning_rate = 0, seconds = 0;
  train::Scores measures = {};
  bool best = false;
};

struct FitResult {
  train::RunResult run;        // its steps are the environment's
  std::int64_t best_step = 0;  // of the best evaluation, 0: there was none
  double best_return = 0;
  double train_return = 0;                   // as an evaluation's
  std::vector<Evaluation> evaluations = {};  // since this process began or resumed
};

// At the end the policy has the weights of its best evaluation, unless a stop was requested. Throws what
// train::run() throws, and ConfigError for numbers below 1.
FitResult fit(Agent& agent, const FitOptions& options, const train::Events& events = {},
              const std::function<void(const Evaluation&)>& on_evaluation = {});

}  // namespace veldt::rl
