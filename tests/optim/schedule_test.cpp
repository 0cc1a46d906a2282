// Rates at their edges, joined to each other, in words, and a user's own.
#include "veldt/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "veldt/core/error.h"

namespace veldt::optim {
namespace {

TEST(Schedule, OfANumberIsConstant) {
  const Schedule schedule = 0.25;
  EXPECT_EQ(schedule(0), 0.25);
  EXPECT_EQ(schedule(1000000), 0.25);
  EXPECT_EQ(schedule.text(), "constant 0.25");
}

TEST(CosineAnnealing, FollowsItsFormulaAndStaysLowAfterwards) {
  const Schedule lr = CosineAnnealing{.lr_max = 0.01, .lr_min = 0.002, .steps = 100, .offset = 20};
  EXPECT_EQ(lr(0), 0.01);
  EXPECT_DOUBLE_EQ(lr(60), 0.006);
  EXPECT_DOUBLE_EQ(lr(99), 0.002 + 0.008 * (1 + std::cos(std::numbers::pi * 99 / 120)) / 2);
  EXPECT_EQ(lr(120), 0.002);
  EXPECT_EQ(lr(100000), 0.002);
  EXPECT_EQ(lr(-5), 0.01);
  EXPECT_EQ(lr.text(), "cosine from 0.01 to 0.002 over 100 with offset 20");
}

TEST(LinearWarmup, RisesInALineAndHandsOver) {
  const Schedule lr = LinearWarmup{.steps = 4, .then = CosineAnnealing{.lr_max = 1, .steps = 10}};
  for (int i = 0; i <= 4; ++i) EXPECT_DOUBLE_EQ(lr(i), (i + 1) / 5.0);
  EXPECT_EQ(lr(4), 1);
  EXPECT_DOUBLE_EQ(lr(9), 0.5);
  EXPECT_EQ(lr.text(), "warm-up over 4, then cosine from 1 to 0 over 10");
}

TEST(LinearWarmup, OfNoStepsIsWhatFollows) {
  const Schedule lr = LinearWarmup{.steps = 0, .then = 0.5};
  EXPECT_EQ(lr(0), 0.5);
}

TEST(LinearWarmup, OfTheLongestLengthDoesNotOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Schedule lr = LinearWarmup{.steps = kMost, .then = 0.5};
  EXPECT_GT(lr(0), 0);
  EXPECT_NEAR(lr(kMost - 1), 0.5, 1e-12);
}

TEST(CosineRestarts, AnswersForAnyStep) {
  const Schedule lr = CosineRestarts{.lr_max = 1, .lr_min = 0.25, .period = 3, .growth = 7};
  const double late = lr(std::numeric_limits<std::int64_t>::max());
  EXPECT_GE(late, 0.25);
  EXPECT_LE(late, 1);
}

TEST(OneCycle, EndsAtItsEndAndStaysThere) {
  const Schedule lr = OneCycle{.lr_max = 1, .steps = 10};
  EXPECT_DOUBLE_EQ(lr(9), 1 / 25e4);
  EXPECT_DOUBLE_EQ(lr(1000), 1 / 25e4);
  EXPECT_EQ(lr.text(), "one cycle to 1 over 10");
}

TEST(Schedule, TellsWhatItIsMadeOf) {
  const Schedule lr = Sequence{.parts = {Linear{.lr_start = 0, .lr_end = 1, .steps = 3}, 0.5}, .at = {3}};
  EXPECT_EQ(lr.text(), "linear from 0 to 1 over 3, then constant 0.5");
}

TEST(Schedule, TakesAUsersOwn) {
  struct Halving {
    double operator()(std::int64_t step) const { return std::ldexp(1.0, static_cast<int>(-step)); }
    std::string text() const { return "halving"; }
  };
  const Schedule lr = LinearWarmup{.steps = 1, .then = Halving{}};
  EXPECT_EQ(lr(0), 0.5);
  EXPECT_EQ(lr(3), 0.25);
}

TEST(Schedule, RefusesBadOptions) {
  EXPECT_THROW(Schedule(-1), ConfigError);
  EXPECT_THROW(Schedule{std::numeric_limits<double>::quiet_NaN()}, ConfigError);
  EXPECT_THROW((Schedule(CosineAnnealing{.lr_max = 1, .lr_min = -1, .steps = 10})), ConfigError);
  EXPECT_THROW((Schedule(CosineAnnealing{.lr_max = 1, .steps = 0})), ConfigError);
  EXPECT_THROW((Schedule(CosineAnnealing{.lr_max = 1, .steps = 1, .offset = -1})), ConfigError);
  EXPECT_THROW((Schedule(LinearWarmup{.steps = -1})), ConfigError);
  EXPECT_THROW((Schedule(StepDecay{.every = 0})), ConfigError);
  EXPECT_THROW((Schedule(MultiStep{.at = {5, 3}})), ConfigError);
  EXPECT_THROW((Schedule(Exponential{.factor = 0})), ConfigError);
  EXPECT_THROW((Schedule(Polynomial{.steps = 0})), ConfigError);
  EXPECT_THROW((Schedule(Linear{.lr_end = -1})), ConfigError);
  EXPECT_THROW((Schedule(CosineRestarts{.growth = 0})), ConfigError);
  EXPECT_THROW((Schedule(OneCycle{.steps = 2})), ConfigError);
  EXPECT_THROW((Schedule(OneCycle{.steps = 100, .rise = 0.6, .three_phases = true})), ConfigError);
  EXPECT_THROW((Schedule(Sequence{.parts = {0.1, 0.2}})), ConfigError);
  EXPECT_THROW((Schedule(Product{})), ConfigError);
}

}  // namespace
}  // namespace veldt::optim
