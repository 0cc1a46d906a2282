// DQN in its forms: learns, resumes with the same bits, and names what cannot be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/rl/agents.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/ops/reduce.h"
#include "veldt/rl/dqn.h"
#include "veldt/rl/grid_world.h"

namespace veldt::rl {
namespace {

using DqnPlayer = test::Player<Dqn, QNetwork, DqnOptions>;

QNetwork q_network_for(const EnvironmentPtr& environment, PolicyOptions options, bool dueling) {
  Rng rng(3);
  return QNetwork(environment->spec(), options, dueling, rng);
}

const EnvironmentPtr& small_world() {
  static const EnvironmentPtr world = std::make_shared<GridWorld>(
      std::vector<std::string>{"S..", ".o.", "..G"}, GridWorldOptions{.time_limit = 20});
  return world;
}

// The shortest way has four steps, each of which costs 0.01.
TEST(Dqn, FindsTheShortestWayInAllItsForms) {
  for (const bool double_q : {false, true})
    for (const bool dueling : {false, true})
      for (const bool prioritized : {false, true}) {
        DqnPlayer player(
            small_world(), 2,
            q_network_for(small_world(), {.width = 32, .activation = MlpActivation::relu}, dueling), 3e-3,
            {.replay = {.capacity = 2000, .prioritized = prioritized},
             .start = 200,
             .rollout = 2,
             .batch = 32,
             .gamma = 0.9,
             .target_every = 100,
             .explore = 2000,
             .double_q = double_q,
             .steps = 6000});
        for (int i = 0; i < 1500; ++i) player.agent.update();
        const std::vector<Episode> episodes = play(player.network, small_world(), {.episodes = 1});
        EXPECT_NEAR(episodes[0].total, 0.96, 1e-9) << double_q << dueling << prioritized;
        EXPECT_EQ(episodes[0].length, 4);
        // What it expects of the start: 0.9^3 of the goal, less the steps before.
        EXPECT_NEAR(max(player.network(Tensor::of({1, 9}, {1, 0, 0, 0, 0, 0, 0, 0, 0}))).item(),
                    0.9 * 0.9 * 0.9 * 0.99 - 0.01 * (1 + 0.9 + 0.81), 0.08);
      }
}

TEST(Dqn, GoesOnWithTheSameBits) {
  const EnvironmentPtr environment = make_environment("CartPole-v1");
  const auto trained = [&](const std::string& out, std::int64_t pause, bool resume) {
    DqnPlayer player(environment, 2, q_network_for(environment, {.width = 16, .normalize = true}, true), 1e-3,
                     {.replay = {.capacity = 1000, .prioritized = true},
                      .start = 100,
                      .rollout = 4,
                      .updates = 2,
                      .batch = 16,
                      .target_every = 60,
                      .explore = 1000});
    const FitResult result = fit(
        player.agent, {.steps = 3000, .pause = pause, .evaluate_every = 500, .out = out, .resume = resume});
    return std::pair(test::numbers_of(player.network), result.train_return);
  };
  const test::TempDir whole, parts;
  const auto expected = trained(whole.path(), 0, false);
  trained(parts.path(), 60, false);  // before anything is learned
  trained(parts.path(), 1900, true);
  EXPECT_EQ(trained(parts.path(), 0, true), expected);
  EXPECT_NE(trained("", 1900, false), expected);
}

TEST(Dqn, WhatCannotBeIsRefused) {
  const EnvironmentPtr cart = make_environment("CartPole-v1"), pendulum = make_environment("Pendulum-v1");
  EXPECT_THAT(test::error_of<ConfigError>([&] { q_network_for(pendulum, {}, false); }),
              ::testing::HasSubstr("DQN cannot act in Pendulum-v1"));
  const auto refused = [&](DqnOptions options) {
    return test::error_of<ConfigError>(
        [&] { DqnPlayer player(cart, 1, q_network_for(cart, {}, false), 1e-3, options); });
  };
  EXPECT_THAT(refused({.batch = 0}), ::testing::HasSubstr("batch = 0"));
  EXPECT_THAT(refused({.epsilon = 2}), ::testing::HasSubstr("epsilon = 2"));
  EXPECT_THAT(refused({.replay = {.capacity = -1}}), ::testing::HasSubstr("cannot hold -1"));
}

}  // namespace
}  // namespace veldt::rl
