// The replay buffer: the oldest goes, draws are even or by priority, and a saved one goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/rl/replay.h"

namespace veldt::rl {
namespace {

void add(Replay& replay, float number) {
  const std::vector<float> here{number, 0}, there{number + 1, 0};
  replay.add(here, static_cast<std::int64_t>(number) % 3, -number, there, static_cast<int>(number) % 2 == 0);
}

// How often each row comes in so many draws.
std::map<std::int64_t, int> counts(const Replay& replay, int batches) {
  Rng rng(4);
  std::map<std::int64_t, int> all;
  std::vector<std::int64_t> rows(10);
  std::vector<float> weights(10);
  for (int i = 0; i < batches; ++i) {
    replay.draw(rng, 1, rows, weights);
    for (const std::int64_t row : rows) ++all[row];
  }
  return all;
}

TEST(SumTree, DrawsInProportion) {
  SumTree tree(5);
  for (int i = 0; i < 5; ++i) tree.set(i, i);
  EXPECT_EQ(tree.total(), 10);
  std::vector<int> drawn(5);
  for (int i = 0; i < 1000; ++i) ++drawn[static_cast<std::size_t>(tree.find(i / 100.0))];
  EXPECT_EQ(drawn, (std::vector{0, 100, 200, 300, 400}));
  EXPECT_EQ(tree.find(10), 4);  // all there is
  tree.set(4, 0);
  EXPECT_EQ(tree.total(), 6);
  EXPECT_EQ(tree.find(6), 3);
}

TEST(Replay, TheOldestMakesPlace) {
  Replay replay(2, {.capacity = 4});
  for (int i = 0; i < 6; ++i) add(replay, static_cast<float>(i));
  EXPECT_EQ(replay.size(), 4);
  std::vector<float> kept;
  for (std::int64_t row = 0; row < 4; ++row) {
    kept.push_back(replay.observation(row)[0]);
    EXPECT_EQ(replay.next(row)[0], kept.back() + 1);
    EXPECT_EQ(replay.reward(row), -kept.back());
    EXPECT_EQ(replay.choice(row), static_cast<int>(kept.back()) % 3);
    EXPECT_EQ(replay.terminated(row), static_cast<int>(kept.back()) % 2 == 0);
  }
  EXPECT_THAT(kept, ::testing::UnorderedElementsAre(2, 3, 4, 5));
}

TEST(Replay, EvenDrawsAreEven) {
  Replay replay(2, {.capacity = 100});
  for (int i = 0; i < 5; ++i) add(replay, static_cast<float>(i));
  const std::map<std::int64_t, int> all = counts(replay, 2000);
  EXPECT_EQ(all.size(), 5u);  // nothing of the empty places
  for (const auto& [row, count] : all) EXPECT_NEAR(count, 4000, 250) << row;
}

TEST(Replay, WhatWasWrongComesMoreOftenAndWeighsLess) {
  Replay replay(2, {.capacity = 8, .prioritized = true, .alpha = 0.5});
  for (int i = 0; i < 4; ++i) add(replay, static_cast<float>(i));
  replay.learned(std::vector<std::int64_t>{0, 1, 2, 3}, std::vector<float>{0.25f, -1, 4, 9});  // 0.5, 1, 2, 3
  std::map<std::int64_t, int> all = counts(replay, 2600);
  EXPECT_NEAR(all[0], 2000, 120);
  EXPECT_NEAR(all[1], 4000, 160);
  EXPECT_NEAR(all[3], 12000, 200);
  Rng rng(1);
  std::vector<std::int64_t> rows(64);
  std::vector<float> weights(64);
  replay.draw(rng, 1, rows, weights);
  const std::vector<double> priorities{0.5, 1, 2, 3};
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_NEAR(weights[i], 0.5 / priorities[static_cast<std::size_t>(rows[i])], 1e-5);
  replay.draw(rng, 0, rows, weights);
  for (const float weight : weights) EXPECT_EQ(weight, 1);
  add(replay, 9);  // as urgent as the most urgent so far
  all = counts(replay, 950);
  EXPECT_NEAR(all[4], all[3], 160);
}

TEST(Replay, GoesOnFromWhatWasSaved) {
  const ReplayOptions options{.capacity = 16, .prioritized = true};
  Replay first(2, options), second(2, options);
  for (int i = 0; i < 20; ++i) add(first, static_cast<float>(i));
  first.learned(std::vector<std::int64_t>{1, 5}, std::vector<float>{3, 0.1f});
  std::map<std::string, Tensor> saved;
  for (const auto& [name, tensor] : first.saved()) saved[name] = tensor;
  second.load(saved);
  for (Replay* one : {&first, &second}) add(*one, 77);
  EXPECT_EQ(counts(first, 50), counts(second, 50));
  for (std::int64_t row = 0; row < 16; ++row)
    EXPECT_EQ(first.observation(row)[0], second.observation(row)[0]);
  saved["replay.place"] = Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{3, 99});
  EXPECT_THAT(test::error_of<IoError>([&] { second.load(saved); }), ::testing::HasSubstr("place 99"));
  EXPECT_THAT(test::error_of<ConfigError>([] { Replay none(2, {.capacity = 0}); }),
              ::testing::HasSubstr("cannot hold 0"));
}

}  // namespace
}  // namespace veldt::rl
