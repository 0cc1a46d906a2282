// Builds agents from recipes, and reads and writes their files.
#include "veldt/recipe/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "veldt/io/json.h"
#include "veldt/io/safetensors.h"
#include "veldt/recipe/trained.h"
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

IoError no_agent(const std::string& path, const std::string& why) {
  return {
      IoError::Kind::malformed, fmt::format("{} holds no agent", path), why,
      "give a model.safetensors that veldt train wrote for a recipe with an environment, or the folder of "
      "its run"};
}

TrainedAgent agent_in(const io::SafeTensors& file, const std::string& path) {
  const auto part = [&](const char* key) -> const std::string& {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end()) throw no_agent(path, fmt::format("its metadata lacks '{}'", key));
    return found->second;
  };
  if (part("kind") != kAgentKind) throw no_agent(path, fmt::format("its kind is '{}'", part("kind")));
  if (part("format_version") != "1")
    throw IoError(
        IoError::Kind::corrupt, fmt::format("cannot read {}", path),
        fmt::format("its format has version {}, and only version 1 is known", part("format_version")),
        "use a newer veldt");
  TrainedAgent trained;
  std::vector<std::pair<std::string, std::vector<std::string>>> given;
  const auto written = io::parse_json<nlohmann::ordered_json>(part("recipe"));
  for (const auto& [key, texts] : written.items())
    given.emplace_back(key, texts.get<std::vector<std::string>>());
  trained.recipe = recipe_of(given, path);
  if (!trained.recipe.acts()) throw no_agent(path, "its recipe has no environment");
  const auto scores = io::parse_json<nlohmann::ordered_json>(part("scores"));
  for (const auto& [name, value] : scores.items())
    if (value.is_number()) trained.scores.emplace_back(name, value.get<double>());
  // Nothing is built that the file does not hold.
  double elements = 0;
  for (const auto& [name, tensor] : file.tensors) elements += static_cast<double>(tensor.numel());
  const Acting& a = trained.recipe.acting;
  if (static_cast<double>(a.policy.width * a.policy.width * (a.policy.depth - 1)) > elements)
    throw no_agent(path, fmt::format("its recipe has {} layers of {}, and it holds {:.0f} numbers",
                                     a.policy.depth, a.policy.width, elements));
  trained.environment = environment_of(trained.recipe);
  trained.policy = policy_of(trained.recipe, trained.environment->spec());
  trained.policy->load_state_dict(file.tensors);
  return trained;
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
  o.metadata = agent_metadata(recipe);
  return o;
}

std::map<std::string, std::string> agent_metadata(const Recipe& recipe, const train::Scores& scores) {
  nlohmann::ordered_json found = nlohmann::ordered_json::object();
  for (const auto& [name, value] : scores) found[name] = value;
  return {{"kind", kAgentKind},
          {"format_version", "1"},
          {"recipe", in_json(recipe)},
          {"scores", io::dump_json(found)}};
}

void save_agent(const std::string& path, const Recipe& recipe, const rl::Policy& policy,
                const train::Scores& scores) {
  io::write_safetensors(path, policy.state_dict(), agent_metadata(recipe, scores));
}

TrainedAgent load_agent(const std::string& path) {
  const std::string name = model_file(path);
  const io::SafeTensors file = io::read_safetensors(name);
  try {
    return agent_in(file, name);
  } catch (const IoError&) {
    throw;
  } catch (const nlohmann::json::exception& e) {
    throw no_agent(name, e.what());
  } catch (const Error& e) {  // of a file, not of the command line
    throw no_agent(name, fmt::format("{}: {}", e.summary(), e.why()));
  }
}

}  // namespace veldt::recipe
