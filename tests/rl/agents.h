// What tests of agents share.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "veldt/ops/shape.h"
#include "veldt/optim/adam.h"
#include "veldt/rl/environments.h"
#include "veldt/rl/fit.h"

namespace veldt::test {

inline constexpr double kNorm = 0.5;  // of gradients

// An agent and all that it needs.
template <class AgentType, class Network, class Options> struct Player {
  Player(const rl::EnvironmentPtr& environment, std::int64_t copies, Network made, double lr, Options options)
      : world(environment, copies, 1),
        network(std::move(made)),
        adam(network.named_parameters(), {.lr = lr, .clip = {.norm = kNorm}}),
        agent(world, network, adam, options) {}
  rl::VectorEnvironment world;
  Network network;
  optim::Adam adam;
  AgentType agent;
};

// All of a module's numbers.
inline std::vector<float> numbers_of(const nn::Module& module) {
  std::vector<float> all;
  for (const auto& [name, tensor] : module.state_dict()) {
    const std::vector<float> some = to(tensor, DType::f32).template values<float>();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace veldt::test
