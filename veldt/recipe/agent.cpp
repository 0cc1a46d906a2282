// Builds agents from recipes, and reads and writes their files.
#include "veldt/recipe/agent.h"

#include <fmt/format.h>

#include <algorithm>

#include "veldt/io/safetensors.h"
#include "veldt/recipe/trained_file.h"
#include "veldt/rl/dqn.h"
#include "veldt/rl/environments.h"
#include "veldt/rl/grid_world.h"
#include "veldt/rl/ppo.h"

namespace veldt::recipe {
namespace {

std::unique_ptr<rl::Agent> agent_of(const Recipe& recipe, Learner& learner) {
  const Acting& a = recipe.acting;
  if (a.agent == "ppo") {
    rl::PpoOptions o = a.ppo;
    o.seed = static_cast<std::uint64_t>(recipe.seed);
    return std::make_unique<rl::Ppo>(learner.world, static_cast<rl::ActorCritic&>(*learner.policy),
                                     *learner.optimizer, o);
  }
  rl::DqnOptions o = a.dqn;
  o.seed = static_cast<std::uint64_t>(recipe.seed);
  if (recipe.steps > 0) o.steps = recipe.steps;
  o.explore = std::max<std::int64_t>(1, static_cast<std::int64_t>(a.explore * static_cast<double>(o.steps)));
  return std::make_unique<rl::Dqn>(learner.world, static_cast<rl::QNetwork&>(*learner.policy),
                                   *learner.optimizer, o);
}

}  // namespace

rl::EnvironmentPtr environment_of(const Recipe& recipe) {
  const Acting& a = recipe.acting;
  if (a.environment == "GridWorld-v0" && (a.map.given() || a.slip > 0))
    return std::make_shared<rl::GridWorld>(a.map.given() ? a.map.texts : rl::GridWorld::default_map(),
                                           rl::GridWorldOptions{.slip = a.slip});
  return rl::make_environment(a.environment);
}

std::unique_ptr<rl::Policy> policy_of(const Recipe& recipe, const rl::EnvironmentSpec& spec) {
  const Acting& a = recipe.acting;
  Rng rng(static_cast<std::uint64_t>(recipe.seed));
  if (a.agent == "dqn") return std::make_unique<rl::QNetwork>(spec, a.policy, a.dueling, rng);
  return std::make_unique<rl::ActorCritic>(spec, a.policy, rng);
}

void check_agent(const Recipe& recipe) {
  Recipe small = recipe;  // whatever its width, the checks are the same
  small.acting.policy.width = 1;
  small.acting.dqn.replay.capacity = 1;
  const Learner learner(small, Device{});
}

Learner::Learner(const Recipe& recipe, Device device)
    : environment(environment_of(recipe)),
      world(environment, recipe.acting.copies, static_cast<std::uint64_t>(recipe.seed)),
      policy(policy_of(recipe, environment->spec())) {
  policy->to(device);
  optimizer = optimizer_of(recipe, *policy);
  agent = agent_of(recipe, *this);
}

rl::FitOptions fit_options_of(const Recipe& recipe, const Learner& learner) {
  rl::FitOptions o;
  o.steps = recipe.steps;
  o.seconds = recipe.seconds;
  const std::int64_t round = learner.agent->steps_per_update();
  o.schedule = schedule_of(recipe, learner.optimizer->lr(), (recipe.steps + round - 1) / round);
  if (recipe.evaluate_every > 0)
    o.evaluate_every = recipe.evaluate_every;
  else if (recipe.steps > 0)
    o.evaluate_every = std::max<std::int64_t>(1, recipe.steps / 20);
  o.evaluation_episodes = recipe.episodes;
  o.patience = recipe.patience;
  o.goal = recipe.goal;
  o.seed = static_cast<std::uint64_t>(recipe.seed) + 0x6576616c;  // "eval": not those of training
  o.metadata = metadata_of(kAgentFile, recipe, {});
  return o;
}

void save_agent(const std::string& path, const Recipe& recipe, const rl::Policy& policy,
                const train::Scores& scores) {
  io::write_safetensors(path, policy.state_dict(), metadata_of(kAgentFile, recipe, scores));
}

TrainedAgent load_agent(const std::string& path) {
  TrainedAgent trained;
  read_trained(path, kAgentFile, [&](const TrainedFile& f) {
    if (!f.recipe.acts()) throw not_of_kind(kAgentFile, f.path, "its recipe has no environment");
    const rl::PolicyOptions& o = f.recipe.acting.policy;
    if (static_cast<double>(o.width * o.width * (o.depth - 1)) > f.elements)
      throw not_of_kind(kAgentFile, f.path,
                        fmt::format("its recipe has {} layers of {}, and it holds {:.0f} numbers", o.depth,
                                    o.width, f.elements));
    trained.recipe = f.recipe;
    trained.scores = f.scores;
    trained.environment = environment_of(f.recipe);
    trained.policy = policy_of(f.recipe, trained.environment->spec());
    trained.policy->load_state_dict(f.file.tensors);
  });
  return trained;
}

}  // namespace veldt::recipe
