// A recipe with an [environment]: what learns to act there, and the file of what was learned.
//   const recipe::TrainedAgent agent = recipe::load_agent("runs/cartpole");
//   const std::vector<rl::Episode> episodes = rl::play(*agent.policy, agent.environment, {.episodes = 10});
// Tests: tests/app/play_test.cpp, tests/fuzz/models.cpp
#pragma once

#include <memory>
#include <string>

#include "veldt/recipe/recipe.h"
#include "veldt/recipe/trainer.h"
#include "veldt/rl/agent.h"
#include "veldt/rl/fit.h"

namespace veldt::recipe {

// Throws UsageError or ConfigError for an environment or an agent that cannot be made.
void check_agent(const Recipe& recipe);

rl::EnvironmentPtr environment_of(const Recipe& recipe);
// Its first weights are drawn by train.seed.
std::unique_ptr<rl::Policy> policy_of(const Recipe& recipe, const rl::EnvironmentSpec& spec);

// All that learns.
struct Learner {
  // Throws as check_agent() and optimizer_of().
  Learner(const Recipe& recipe, Device device);

  rl::EnvironmentPtr environment;
  rl::VectorEnvironment world;
  std::unique_ptr<rl::Policy> policy;
  std::unique_ptr<optim::Optimizer> optimizer;
  std::unique_ptr<rl::Agent> agent;
};

// Limits, rate and evaluations; the caller adds folder, resumption and configuration. Unless the recipe says
// otherwise there are 20 evaluations in a run, or of one with a time alone one every 10,000 steps.
rl::FitOptions fit_options_of(const Recipe& recipe, const Learner& learner);

// Throws IoError unwritable.
void save_agent(const std::string& path, const Recipe& recipe, const rl::Policy& policy,
                const train::Scores& scores);

struct TrainedAgent {
  Recipe recipe;
  rl::EnvironmentPtr environment;
  std::unique_ptr<rl::Policy> policy;
  train::Scores scores = {};
};

// From a file, or the folder of a run, as load() of recipe/trained.h. Throws IoError missing, malformed for a
// file that is no agent, and corrupt.
TrainedAgent load_agent(const std::string& path);

}  // namespace veldt::recipe
