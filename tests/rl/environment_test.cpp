// Environments and their copies: what they check, restarts, time limits, and going on from a saved state.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/rl/environments.h"
#include "veldt/rl/vector_environment.h"

namespace veldt::rl {
namespace {

// A walk to 5, in which one thing may be wrong.
class Walk final : public Environment {
 public:
  explicit Walk(std::string fault = {}, std::int64_t limit = 8)
      : Environment({.name = "Walk", .low = {0, 0}, .high = {5, 100}, .choices = 2, .time_limit = limit}),
        fault_(std::move(fault)) {}
  void reset(std::vector<double>& state, Rng& rng) const override { state = {0, uniform(rng, 0, 100)}; }
  StepResult step(std::vector<double>& state, const Action& action) const override {
    state[0] += static_cast<double>(action.choice);
    if (fault_ == "state") state.push_back(1);
    const double reward = fault_ == "reward"  ? std::nan("")
                          : fault_ == "large" ? 1e300
                                              : static_cast<double>(action.choice);
    return {reward, state[0] >= 5};
  }
  void observe(const std::vector<double>& state, std::vector<float>& observation) const override {
    observation = {static_cast<float>(state[0]), static_cast<float>(state[1])};
    if (fault_ == "short") observation = {1};
    if (fault_ == "nan" && state[0] > 1) observation[1] = std::nanf("");
    if (fault_ == "infinity" && state[0] > 1) observation[0] = std::numeric_limits<float>::infinity();
  }

 private:
  std::string fault_;
};

std::vector<std::int64_t> all(std::int64_t copies, std::int64_t choice) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(copies), choice);
}

std::string fault(const std::string& what) {
  return test::error_of([&] {
    VectorEnvironment world(std::make_shared<Walk>(what), 2, 1);
    for (int i = 0; i < 4; ++i) world.step(all(2, 1));
  });
}

TEST(Environments, WhatIsWrongIsNamed) {
  EXPECT_THAT(fault("nan"),
              ::testing::AllOf(::testing::HasSubstr("the environment Walk gave an observation of nan"),
                               ::testing::HasSubstr("number 2 of 2, after step 2")));
  EXPECT_THAT(fault("infinity"), ::testing::HasSubstr("gave an observation of infinity"));
  EXPECT_THAT(fault("reward"), ::testing::HasSubstr("the environment Walk gave a reward of nan"));
  EXPECT_THAT(fault("large"),
              ::testing::AllOf(::testing::HasSubstr("the environment Walk gave a reward of 1e+300"),
                               ::testing::HasSubstr("scale it in the environment")));
  EXPECT_THAT(fault("short"),
              ::testing::AllOf(::testing::HasSubstr("Walk gave an observation of another length"),
                               ::testing::HasSubstr("1 numbers, and the spec has bounds for 2")));
  EXPECT_THAT(fault("state"), ::testing::HasSubstr("step 1 of an episode left 3 numbers of 2"));
  VectorEnvironment sound(std::make_shared<Walk>(), 2, 1);
  for (int i = 0; i < 40; ++i) EXPECT_NO_THROW(sound.step(all(2, 1)));
}

class Strange final : public Environment {
 public:
  using Environment::Environment;
  void reset(std::vector<double>&, Rng&) const override {}
  StepResult step(std::vector<double>&, const Action&) const override { return {}; }
  void observe(const std::vector<double>&, std::vector<float>&) const override {}
};

TEST(Environments, ASpecThatContradictsItselfIsRefused) {
  const auto refused = [](EnvironmentSpec spec) {
    return test::error_of([&] { Strange s(std::move(spec)); });
  };
  EXPECT_THAT(refused({.name = ""}), ::testing::HasSubstr("no name"));
  EXPECT_THAT(refused({.name = "E"}), ::testing::HasSubstr("shows nothing"));
  EXPECT_THAT(refused({.name = "E", .low = {0, 0}, .high = {1}, .choices = 2}),
              ::testing::HasSubstr("2 lower bounds and 1 upper ones"));
  EXPECT_THAT(refused({.name = "E", .low = {1}, .high = {1}, .choices = 2}),
              ::testing::HasSubstr("number 1 of"));
  EXPECT_THAT(refused({.name = "E", .low = {0}, .high = {1}}), ::testing::HasSubstr("it has neither"));
  EXPECT_THAT(
      refused({.name = "E", .low = {0}, .high = {1}, .choices = 2, .action_low = {0}, .action_high = {1}}),
      ::testing::HasSubstr("choices and a continuous action"));
  EXPECT_THAT(test::error_of([] { make_environment("CartPole"); }),
              ::testing::HasSubstr("did you mean 'CartPole-v1'?"));
  // A state without numbers could not be told from none.
  EXPECT_THAT(test::error_of([] {
                VectorEnvironment world(std::make_shared<Strange>(EnvironmentSpec{
                                            .name = "E", .low = {0}, .high = {1}, .choices = 2}),
                                        1, 1);
              }),
              ::testing::HasSubstr("the environment E has an empty state"));
}

TEST(Environments, AnEpisodeEndsByItsRulesOrByTime) {
  VectorEnvironment world(std::make_shared<Walk>(), 2, 1);
  // The first walks, the second waits.
  for (int step = 1; step <= 8; ++step) {
    const float start = world.observations()[1];
    world.step(std::vector<std::int64_t>{step <= 5 ? 1 : 0, 0});
    EXPECT_EQ(world.terminated()[0] != 0, step == 5);
    EXPECT_EQ(world.truncated()[1] != 0, step == 8);
    EXPECT_FALSE(world.terminated()[1] != 0);
    if (step == 5) {
      EXPECT_EQ(world.final_observations()[0], 5);
      EXPECT_EQ(world.final_observations()[1], start);
      EXPECT_EQ(world.observations()[0], 0);  // of the next episode
      EXPECT_NE(world.observations()[1], start);
      ASSERT_EQ(world.episodes().size(), 1u);
      EXPECT_EQ(world.episodes()[0].length, 5);
      EXPECT_EQ(world.episodes()[0].total, 5);
    }
    if (step == 8) {
      ASSERT_EQ(world.episodes().size(), 1u);
      EXPECT_EQ(world.episodes()[0].copy, 1);
      EXPECT_EQ(world.episodes()[0].total, 0);
    }
  }
}

TEST(Environments, TheGoalInTheLastStepIsBothEnds) {
  VectorEnvironment world(std::make_shared<Walk>("", 5), 1, 1);
  for (int step = 1; step <= 5; ++step) world.step(all(1, 1));
  EXPECT_TRUE(world.terminated()[0] != 0 && world.truncated()[0] != 0);
}

TEST(Environments, MoreCopiesLeaveTheFirstOnesAsTheyAre) {
  VectorEnvironment few(make_environment("CartPole-v1"), 2, 7), many(make_environment("CartPole-v1"), 5, 7);
  VectorEnvironment other(make_environment("CartPole-v1"), 2, 8);
  for (int step = 0; step < 100; ++step) {
    few.step(all(2, step % 2)), many.step(all(5, step % 2)), other.step(all(2, step % 2));
    for (std::size_t i = 0; i < few.observations().size(); ++i)
      ASSERT_EQ(few.observations()[i], many.observations()[i]);
  }
  EXPECT_NE(few.observations()[0], few.observations()[4]);
  EXPECT_NE(few.observations()[0], other.observations()[0]);
}

TEST(Environments, ASavedStateGoesOnWithTheSameBits) {
  for (const std::string& name : environment_names()) {
    const EnvironmentPtr environment = make_environment(name);
    VectorEnvironment first(environment, 3, 5);
    const auto step = [&](VectorEnvironment& world, int number) {
      if (world.spec().is_discrete())
        world.step(all(3, number % world.spec().choices));
      else
        world.step(std::vector<float>(static_cast<std::size_t>(3 * world.spec().action_size()), 0.7f));
    };
    for (int i = 0; i < 130; ++i) step(first, i / 3);
    VectorEnvironment second(environment, 3, 5);
    second.load(first.saved()[0].tensor);
    for (int i = 0; i < 300; ++i) {
      step(first, i / 5), step(second, i / 5);
      for (std::size_t k = 0; k < first.observations().size(); ++k)
        ASSERT_EQ(first.observations()[k], second.observations()[k]) << name;
    }
  }
  VectorEnvironment world(make_environment("CartPole-v1"), 2, 1);
  EXPECT_THAT(test::error_of([&] {
                world.load(Tensor::of({2, 7}, {0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, DType::f64));
              }),
              ::testing::HasSubstr("hold numbers that no run has"));
  EXPECT_THAT(test::error_of([&] {
                world.load(Tensor::of({1, 2}, {0, 0}, DType::f64));
              }),
              ::testing::HasSubstr("of another form"));
}

// Finite, but nowhere on the map, or so fast that an angle would be wrapped for ever.
TEST(Environments, StatesThatNoEpisodeHasAreRefused) {
  VectorEnvironment grid(make_environment("GridWorld-v0"), 1, 1),
      acrobot(make_environment("Acrobot-v1"), 1, 1);
  const auto loaded = [](VectorEnvironment& world, const std::vector<double>& numbers) {
    const auto count = static_cast<std::int64_t>(numbers.size());
    return test::error_of<IoError>([&] { world.load(Tensor::from<double>({1, count}, numbers)); });
  };
  for (const auto& [row, column] :
       {std::pair(1e6, 0.0), std::pair(-1.0, 0.0), std::pair(0.5, 0.0), std::pair(1.0, 1.0)}) {
    EXPECT_THAT(loaded(grid, {row, column, 7, 0, 0, 0, 0}), ::testing::HasSubstr("no state of GridWorld"));
    EXPECT_THROW(grid.set_state(0, {row, column, 7, 0}), ShapeError);
  }
  EXPECT_THAT(loaded(grid, {0, 0, 7, -1, 0, 0, 0}), ::testing::HasSubstr("no state of GridWorld"));
  EXPECT_THAT(loaded(acrobot, {1e300, 0, 0, 0, 0, 0, 0}), ::testing::HasSubstr("no state of Acrobot"));
  EXPECT_THROW(acrobot.set_state(0, {0, 0, 1e18, 0}), ShapeError);
  acrobot.set_state(0, {3, -3, 12, -28});
  EXPECT_THROW(acrobot.set_state(0, {std::nan(""), 0, 0, 0}), ShapeError);
}

TEST(Environments, ActionsOfTheWrongKindAreRefused) {
  VectorEnvironment cart(make_environment("CartPole-v1"), 2, 1),
      pendulum(make_environment("Pendulum-v1"), 2, 1);
  EXPECT_THAT(test::error_of([&] { cart.step(all(1, 0)); }), ::testing::HasSubstr("it has 2 copies"));
  EXPECT_THAT(test::error_of([&] { cart.step(all(2, 2)); }), ::testing::HasSubstr("there are 0 to 1"));
  EXPECT_THAT(test::error_of([&] { pendulum.step(all(2, 0)); }),
              ::testing::HasSubstr("its action is continuous"));
  EXPECT_THAT(test::error_of([&] { pendulum.step(std::vector<float>{1}); }),
              ::testing::HasSubstr("2 copies take 2"));
}

}  // namespace
}  // namespace veldt::rl
