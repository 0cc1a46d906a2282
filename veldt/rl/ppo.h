// Proximal policy optimization (Schulman et al. 2017), for choices and continuous actions.
// Tests: tests/rl/ppo_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "veldt/rl/agent.h"
#include "veldt/rl/recorded.h"

namespace veldt::rl {

struct PpoOptions {
  std::int64_t rollout = 128;  // steps of each copy between two updates
  std::int64_t batch = 256;    // of a step of the optimizer; divides rollout times copies
  std::int64_t epochs = 4;     // over each rollout
  double gamma = 0.99;         // the discount
  double lambda = 0.95;        // of generalised advantages (Schulman et al. 2016); 1: whole returns
  double clip = 0.2;           // of the ratio of probabilities, around 1
  double entropy = 0;          // the weight of the policy's entropy
  double value = 0.5;          // that of the critic's squared error
  // Rewards are divided by the running deviation of the discounted return, and clipped to 10.
  bool scale_rewards = false;
  std::uint64_t seed = 1;
};

// Advantages are made of mean 0 and deviation 1 in each batch. Where the time limit cuts an episode off, what
// was to come is estimated by the critic (Pardo et al. 2018, "Time limits in reinforcement learning").
class Ppo final : public Agent {
 public:
  // Keeps references. The optimizer's own option limits the norm of gradients. Throws ConfigError for options
  // out of range, and a batch that does not divide a rollout.
  Ppo(VectorEnvironment& world, ActorCritic& network, optim::Optimizer& optimizer, PpoOptions options = {});

  Policy& policy() override { return network_; }
  double update() override;
  std::int64_t steps_per_update() const override { return options_.rollout * copies_; }
  NamedTensors saved() override;
  void load(const std::map<std::string, Tensor>& saved) override;

 private:
  // What was seen, done and got, [rollout, copies] of each; `actions` has action_size numbers for each,
  // `choices` one.
  struct Rollout {
    std::vector<float> observations, actions, chances, rewards, values, advantages, returns;
    std::vector<std::int64_t> choices;
    std::vector<std::uint8_t> ends;
  };

  void collect();
  void choose(std::int64_t step);
  void reward(std::int64_t step);
  void scale();
  void judge();
  double learn();
  void fill(const std::int64_t* rows);
  TensorList step_of_batch();

  ActorCritic& network_;
  PpoOptions options_;
  std::int64_t copies_;
  Rollout seen_;
  Recorded look_;
  Input<float> observations_, actions_, chances_, advantages_, returns_;
  Input<std::int64_t> choices_;
  std::optional<Plan> plan_;
  std::vector<float> outputs_, values_, last_values_, now_, rewards_, log_deviation_;
  std::vector<std::int64_t> chosen_;
  std::vector<double> running_;  // discounted returns of all copies; their count, mean and squares
};

}  // namespace veldt::rl
