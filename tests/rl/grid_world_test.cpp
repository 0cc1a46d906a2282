// The grid world: walls, pits, the goal, slips, and maps that cannot be.
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/rl/grid_world.h"

namespace veldt::rl {
namespace {

constexpr std::int64_t kUp = 0, kRight = 1, kDown = 2, kLeft = 3;

TEST(GridWorld, OneWalksToTheGoalAndNotThroughWalls) {
  const GridWorld world({"S#G", "..."});
  std::vector<double> state;
  Rng rng(1);
  world.reset(state, rng);
  const auto go = [&](std::int64_t choice) { return world.step(state, {.choice = choice}); };
  const auto place = [&] { return std::pair(state[0], state[1]); };
  EXPECT_EQ(place(), std::pair(0.0, 0.0));
  for (const std::int64_t blocked : {kUp, kLeft, kRight}) {
    const StepResult result = go(blocked);
    EXPECT_EQ(place(), std::pair(0.0, 0.0));
    EXPECT_DOUBLE_EQ(result.reward, -0.01);
  }
  for (const std::int64_t choice : {kDown, kRight, kRight}) EXPECT_FALSE(go(choice).terminated);
  std::vector<float> seen;
  world.observe(state, seen);
  EXPECT_EQ(seen, (std::vector<float>{0, 0, 0, 0, 0, 1}));
  const StepResult last = go(kUp);
  EXPECT_TRUE(last.terminated);
  EXPECT_DOUBLE_EQ(last.reward, 0.99);
}

TEST(GridWorld, APitEndsTheEpisode) {
  const GridWorld world({"SoG"});
  std::vector<double> state;
  Rng rng(1);
  world.reset(state, rng);
  const StepResult result = world.step(state, {.choice = kRight});
  EXPECT_TRUE(result.terminated);
  EXPECT_DOUBLE_EQ(result.reward, -1.01);
}

TEST(GridWorld, SlipsGoToEitherSideAsOftenAsTheyShould) {
  const GridWorld world({"...", ".S.", "..G"}, {.slip = 0.3});
  Rng rng(3);
  int up = 0, left = 0, right = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<double> state;
    world.reset(state, rng);
    world.step(state, {.choice = kUp});
    up += state[0] == 0;
    left += state[1] == 0;
    right += state[1] == 2;
  }
  EXPECT_EQ(up + left + right, 4000);
  EXPECT_NEAR(up, 2800, 120);
  EXPECT_NEAR(left, 600, 90);
  EXPECT_NEAR(right, 600, 90);
}

TEST(GridWorld, MapsThatCannotBeAreRefused) {
  const auto refused = [](std::vector<std::string> map, GridWorldOptions options = {}) {
    return test::error_of([&] { GridWorld world(std::move(map), options); });
  };
  EXPECT_THAT(refused({}), ::testing::HasSubstr("it has no squares"));
  EXPECT_THAT(refused({"S.", "..G"}), ::testing::HasSubstr("row 2 has 3 letters and the first 2"));
  EXPECT_THAT(refused({"S.", "xG"}), ::testing::HasSubstr("row 2, column 1"));
  EXPECT_THAT(refused({"S."}), ::testing::HasSubstr("no goal"));
  EXPECT_THAT(refused({".G"}), ::testing::HasSubstr("no start"));
  EXPECT_THAT(refused({std::string(65, 'S') + "G"}), ::testing::HasSubstr("66 columns"));
  EXPECT_THAT(refused({"SG"}, {.slip = 2}), ::testing::HasSubstr("slip by 2"));
}

}  // namespace
}  // namespace veldt::rl
