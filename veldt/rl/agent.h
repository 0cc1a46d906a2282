// An agent: a policy, the worlds that it acts in, and how it learns from what happens there.
//   rl::VectorEnvironment world(rl::make_environment("CartPole-v1"), 8, 1);
//   rl::ActorCritic network(world.spec(), {}, rng);
//   optim::Adam adam(network.named_parameters(), {.lr = 1e-3, .clip = {.norm = 0.5}});
//   rl::Ppo agent(world, network, adam);
//   rl::fit(agent, {.steps = 100'000, .out = "runs/cartpole"});
// Tests: tests/rl/ppo_test.cpp, tests/rl/dqn_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "veldt/optim/optimizer.h"
#include "veldt/rl/policy.h"
#include "veldt/rl/vector_environment.h"
#include "veldt/train/metric.h"

namespace veldt::rl {

class Agent {
 public:
  virtual ~Agent() = default;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  VectorEnvironment& world() { return world_; }
  optim::Optimizer& optimizer() { return optimizer_; }
  Device device() const { return optimizer_.slab().values().device(); }
  virtual Policy& policy() = 0;

  // One round: takes steps_per_update() steps, of all copies together, and learns. Returns the mean loss, 0
  // where nothing was learned yet. Throws DivergedError for a policy that is no longer finite, and what
  // VectorEnvironment throws.
  virtual double update() = 0;
  virtual std::int64_t steps_per_update() const = 0;
  // The episodes that ended in the last round.
  const std::vector<Episode>& episodes() const { return episodes_; }
  // What else is to know of the last round: "entropy", "epsilon" ..
  const train::Scores& measures() const { return measures_; }

  // All that the next rounds depend on besides policy and optimizer, so that a resumed run has the same bits.
  virtual NamedTensors saved();
  // Throws IoError corrupt for numbers that no run has.
  virtual void load(const std::map<std::string, Tensor>& saved);

 protected:
  // Keeps references. `measures`: those of no round yet.
  Agent(VectorEnvironment& world, optim::Optimizer& optimizer, std::uint64_t seed, train::Scores measures);
  Rng& rng() { return rng_; }
  double& measure(std::size_t i) { return measures_[i].second; }
  // Steps all copies, and notes the episodes that ended.
  template <class T> void act(const std::vector<T>& actions) {
    world_.step(actions);
    episodes_.insert(episodes_.end(), world_.episodes().begin(), world_.episodes().end());
  }
  void begin_round() { episodes_.clear(); }
  // Throws DivergedError unless all are finite.
  void check_outputs(const std::vector<float>& outputs) const;

 private:
  VectorEnvironment& world_;
  optim::Optimizer& optimizer_;
  Rng rng_;
  std::vector<Episode> episodes_;
  train::Scores measures_;
};

}  // namespace veldt::rl
