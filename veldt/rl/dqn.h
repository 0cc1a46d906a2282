// Deep Q-learning (Mnih et al. 2015), double (van Hasselt et al. 2016), with an optional dueling network and
// prioritised replay.
// Tests: tests/rl/dqn_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "veldt/rl/agent.h"
#include "veldt/rl/recorded.h"
#include "veldt/rl/replay.h"

namespace veldt::rl {

struct DqnOptions {
  ReplayOptions replay = {};
  std::int64_t start = 1000;  // steps before the first is learned from
  std::int64_t rollout = 4;   // steps of each copy between two rounds of learning
  std::int64_t updates = 1;   // batches of such a round
  std::int64_t batch = 64;
  double gamma = 0.99;
  std::int64_t target_every = 500;  // steps after which the target network is the network as it is
  double epsilon = 0.05;            // the share of random actions; it falls to this from 1
  std::int64_t explore = 10'000;    // over so many steps
  bool double_q = true;             // the network chooses the next action, the target network judges it
  double beta = 0.4;                // of prioritised replay; it grows to 1 over `steps`
  std::int64_t steps = 100'000;     // the length of the run, for beta
  std::uint64_t seed = 1;
};

// The loss is Huber's of the error r + gamma Q'(s', a') - Q(s, a). An episode that was cut off by time goes
// on in it: only one that ended by its rules has nothing to come.
class Dqn final : public Agent {
 public:
  // Keeps references. Throws ConfigError for options out of range.
  Dqn(VectorEnvironment& world, QNetwork& network, optim::Optimizer& optimizer, DqnOptions options = {});

  Policy& policy() override { return network_; }
  double update() override;
  std::int64_t steps_per_update() const override { return options_.rollout * copies_; }
  NamedTensors saved() override;
  void load(const std::map<std::string, Tensor>& saved) override;

 private:
  double epsilon() const;
  void collect();
  double learn();
  void fill();
  TensorList step_of_batch();
  void update_target();

  QNetwork& network_;
  DqnOptions options_;
  std::int64_t copies_;
  QNetwork target_;
  NamedTensors from_, to_;  // the state of both networks
  Replay replay_;
  std::int64_t steps_ = 0;
  Recorded look_;
  Input<float> observations_, nexts_, rewards_, discounts_, weights_;
  Input<std::int64_t> choices_;
  std::optional<Plan> plan_;
  std::vector<float> outputs_, errors_, before_, drawn_weights_;
  std::vector<std::int64_t> chosen_, rows_;
};

}  // namespace veldt::rl
