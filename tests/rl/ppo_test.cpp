// PPO: learns choices and continuous actions, resumes with the same bits, and names what cannot be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/rl/agents.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/safetensors.h"
#include "veldt/ops/shape.h"
#include "veldt/rl/ppo.h"

namespace veldt::rl {
namespace {

using PpoPlayer = test::Player<Ppo, ActorCritic, PpoOptions>;

ActorCritic network_for(const EnvironmentPtr& environment, PolicyOptions options = {}) {
  Rng rng(3);
  return ActorCritic(environment->spec(), options, rng);
}

TEST(Ppo, BalancesThePole) {
  const EnvironmentPtr environment = make_environment("CartPole-v1");
  PpoPlayer player(environment, 8, network_for(environment), 1e-3,
                   {.rollout = 64, .batch = 128, .epochs = 8});
  const FitResult result = fit(player.agent, {.steps = 100'000, .evaluate_every = 10'000, .goal = 490});
  EXPECT_GE(result.best_return, 490);
  EXPECT_EQ(result.run.stop, train::Stop::goal_met);
  EXPECT_LT(result.run.steps, 100'000);
  // The weights of the best evaluation are the policy's.
  const Returns again = returns_of(play(player.network, environment, {.episodes = 20, .seed = 1}));
  EXPECT_EQ(again.mean, result.best_return);
}

// What is paid is how near the action comes to half of what is seen, in episodes of one step.
class Aim final : public Environment {
 public:
  Aim() : Environment({.name = "Aim", .low = {-1}, .high = {1}, .action_low = {-1}, .action_high = {1}}) {}
  void reset(std::vector<double>& state, Rng& rng) const override { state = {uniform(rng, -1, 1)}; }
  StepResult step(std::vector<double>& state, const Action& action) const override {
    const double off = static_cast<double>(action.values[0]) - state[0] / 2;
    return {-off * off, true};
  }
  void observe(const std::vector<double>& state, std::vector<float>& seen) const override {
    seen = {static_cast<float>(state[0])};
  }
};

TEST(Ppo, LearnsWhereToAim) {
  const EnvironmentPtr environment = std::make_shared<Aim>();
  PpoPlayer player(environment, 16, network_for(environment), 3e-3,
                   {.rollout = 16, .batch = 64, .epochs = 8});
  const double before = returns_of(play(player.network, environment, {})).mean;
  fit(player.agent, {.steps = 20'000, .evaluate_every = 5'000});
  EXPECT_LT(before, -0.04);
  EXPECT_GT(returns_of(play(player.network, environment, {})).mean, -0.003);
  EXPECT_LT(player.network.log_deviation().item(), -0.5);  // it has become sure
}

PpoOptions small_rounds() {
  return {.rollout = 16, .batch = 16, .epochs = 2, .entropy = 0.01, .scale_rewards = true};
}

TEST(Ppo, GoesOnWithTheSameBits) {
  for (const char* name : {"CartPole-v1", "Pendulum-v1"}) {
    const EnvironmentPtr environment = make_environment(name);
    const auto trained = [&](const std::string& out, std::int64_t pause, bool resume) {
      PpoPlayer player(environment, 4, network_for(environment, {.width = 16, .normalize = true}), 1e-3,
                       small_rounds());
      const FitResult result =
          fit(player.agent,
              {.steps = 4000, .pause = pause, .evaluate_every = 1000, .out = out, .resume = resume});
      return std::pair(test::numbers_of(player.network), result.train_return);
    };
    const test::TempDir whole, parts;
    const auto expected = trained(whole.path(), 0, false);
    trained(parts.path(), 1500, false);
    trained(parts.path(), 2900, true);
    EXPECT_EQ(trained(parts.path(), 0, true), expected) << name;
    EXPECT_NE(trained("", 2000, false), expected) << name;
  }
}

// A resumed run may have no round left, and still says what the last one was like.
TEST(Ppo, MeasuresOfTheLastRoundAreSaved) {
  const EnvironmentPtr environment = make_environment("CartPole-v1");
  PpoPlayer first(environment, 4, network_for(environment), 1e-3, small_rounds()),
      second(environment, 4, network_for(environment), 1e-3, small_rounds());
  first.agent.update();
  std::map<std::string, Tensor> saved;
  for (const auto& [name, tensor] : first.agent.saved()) saved[name] = tensor;
  second.agent.load(saved);
  EXPECT_GT(train::score(second.agent.measures(), "entropy"), 0);
  EXPECT_EQ(second.agent.measures(), first.agent.measures());
  saved["measures"] = Tensor::from<double>({2}, std::vector<double>{0.5, std::nan("")});
  EXPECT_THAT(test::error_of<IoError>([&] { second.agent.load(saved); }),
              ::testing::HasSubstr("its divergence is not finite"));
  EXPECT_EQ(second.agent.measures(), first.agent.measures());  // as before
}

// Forever the same, for a reward.
class Forever final : public Environment {
 public:
  Forever()
      : Environment(
            {.name = "Forever", .low = {-1}, .high = {1}, .choices = 2, .time_limit = 1'000'000'000'000}) {}
  void reset(std::vector<double>& state, Rng&) const override { state = {0}; }
  StepResult step(std::vector<double>&, const Action&) const override { return {.reward = 1}; }
  void observe(const std::vector<double>&, std::vector<float>& seen) const override { seen = {0}; }
};

TEST(Ppo, EvaluationsEndWhereEpisodesDoNot) {
  const EnvironmentPtr environment = std::make_shared<Forever>();
  PpoPlayer player(environment, 2, network_for(environment), 1e-3, {.rollout = 8, .batch = 16});
  std::vector<std::string> warnings;
  train::Events events;
  events.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  const FitResult result =
      fit(player.agent,
          {.steps = 64, .evaluate_every = 16, .evaluation_episodes = 3, .max_episode_steps = 70}, events);
  EXPECT_EQ(result.best_return, 70);
  EXPECT_EQ(result.evaluations.size(), 4);
  EXPECT_THAT(warnings, ::testing::ElementsAre(::testing::HasSubstr("cut off after 70 steps")));
  EXPECT_EQ(returns_of(play(player.network, environment, {.episodes = 2})).length,
            static_cast<double>(kMostSteps));
}

// Pays more after each evaluation, and breaks down after the third.
class Breaking final : public Environment {
 public:
  explicit Breaking(const int& evaluations)
      : Environment({.name = "Breaking", .low = {-1}, .high = {1}, .choices = 2, .time_limit = 5}),
        evaluations_(evaluations) {}
  void reset(std::vector<double>& state, Rng&) const override { state = {0}; }
  StepResult step(std::vector<double>&, const Action&) const override {
    if (evaluations_ == 3) throw Error("the world has ended", "it was judged three times", "make a new one");
    return {.reward = static_cast<double>(evaluations_)};
  }
  void observe(const std::vector<double>&, std::vector<float>& seen) const override { seen = {0}; }

 private:
  const int& evaluations_;
};

// All of it within the second for which files are put off.
TEST(Ppo, WhatWasMeasuredBeforeTheEnvironmentFailedIsKept) {
  const test::TempDir dir;
  int evaluations = 0;
  const EnvironmentPtr environment = std::make_shared<Breaking>(evaluations);
  PpoPlayer player(environment, 2, network_for(environment), 1e-3, {.rollout = 8, .batch = 16});
  EXPECT_THAT(test::error_of([&] {
                fit(player.agent,
                    {.steps = 160, .evaluate_every = 16, .evaluation_episodes = 3, .out = dir / "run"}, {},
                    [&](const Evaluation&) { ++evaluations; });
              }),
              ::testing::HasSubstr("the world has ended"));
  const std::string table = test::bytes_of(dir / "run/metrics.csv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4);
  EXPECT_THAT(table, ::testing::HasSubstr("\n48,"));
  EXPECT_EQ(io::read_safetensors(dir / "run/best.safetensors").metadata.at("step"), "48");
}

TEST(Ppo, WhatCannotBeIsRefused) {
  const EnvironmentPtr environment = make_environment("CartPole-v1");
  const auto refused = [&](PpoOptions options) {
    return test::error_of<ConfigError>(
        [&] { PpoPlayer player(environment, 3, network_for(environment), 1e-3, options); });
  };
  EXPECT_THAT(refused({.rollout = 10, .batch = 16}), ::testing::HasSubstr("does not divide the 30 steps"));
  EXPECT_THAT(refused({.rollout = 0}), ::testing::HasSubstr("rollout 0"));
  EXPECT_THAT(refused({.rollout = std::int64_t{1} << 40}),
              ::testing::HasSubstr("has at most 16777216 steps"));
  EXPECT_THAT(refused({.rollout = 64, .batch = 64, .gamma = 1.5}), ::testing::HasSubstr("gamma = 1.5"));
  EXPECT_THAT(refused({.rollout = 64, .batch = 64, .entropy = std::nan("")}),
              ::testing::HasSubstr("entropy = nan"));
}

TEST(Ppo, APolicyThatIsNoLongerFiniteIsNamed) {
  const EnvironmentPtr environment = make_environment("Pendulum-v1");
  PpoPlayer player(environment, 2, network_for(environment), 1e-3, {.rollout = 8, .batch = 16});
  player.network.parameters()[0].assign(Tensor::from<float>(
      player.network.parameters()[0].shape(),
      std::vector<float>(static_cast<std::size_t>(player.network.parameters()[0].numel()), std::nanf(""))));
  EXPECT_THAT(test::error_of<ConfigError>([&] {
                fit(player.agent,
                    {.seconds = 1, .schedule = optim::CosineAnnealing{.lr_max = 1e-3, .steps = 9}});
              }),
              ::testing::HasSubstr("limited by time"));
  EXPECT_THAT(test::error_of<DivergedError>([&] { fit(player.agent, {.steps = 100}); }),
              ::testing::HasSubstr("the policy for Pendulum-v1 diverged"));
}

}  // namespace
}  // namespace veldt::rl
