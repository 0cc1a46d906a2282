// A map of errors draws what it should as often as it should, and weighs it so that means stay true.
#include "veldt/field/error_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/ops/create.h"

namespace veldt::field {
namespace {

using Points = std::vector<std::int64_t>;

// Notes an error for each point, all at once.
void note_all(ErrorMap& map, const std::vector<float>& errors) {
  const auto n = static_cast<std::int64_t>(errors.size());
  Points points(errors.size());
  std::iota(points.begin(), points.end(), 0);
  map.note(Tensor::from<std::int64_t>({n}, points), Tensor::from<float>({n}, errors));
}

// Errors from 0 to 1 that differ from tile to tile of 64.
std::vector<float> uneven(std::int64_t points) {
  std::vector<float> errors;
  for (std::int64_t p = 0; p < points; ++p) errors.push_back(static_cast<float>(p / 64 * 37 % 101) / 100);
  return errors;
}

TEST(ErrorMap, DrawsMoreWhereTheErrorIsAndWeighsItLess) {
  ErrorMap map(1000, 100, 3);
  Points points(1000);
  std::iota(points.begin(), points.end(), 0);
  std::vector<float> errors(1000, 0.0f);
  std::fill(errors.begin(), errors.begin() + 128, 1.0f);  // two tiles
  for (int i = 0; i < 20; ++i)
    map.note(Tensor::from<std::int64_t>({1000}, points), Tensor::from<float>({1000}, errors));
  double wrong = 0, count = 0, weights = 0;
  for (std::int64_t step = 0; step < 400; ++step) {
    const ErrorMap::Draw drawn = map.draw(step);
    const Points at = drawn.points.values<std::int64_t>();
    const std::vector<float> weight = drawn.weights.values<float>();
    EXPECT_TRUE(std::is_sorted(at.begin(), at.end()));
    for (std::size_t i = 0; i < at.size(); ++i) {
      ASSERT_GE(at[i], 0);
      ASSERT_LT(at[i], 1000);
      count += at[i] < 128;
      wrong += at[i] < 128 ? static_cast<double>(weight[i]) : 0;
      weights += static_cast<double>(weight[i]);
    }
  }
  // 12.8 % of the points, half of what is drawn by error, and as much of the other half as of the points.
  EXPECT_NEAR(count / 40000, 0.5 + 0.5 * 0.128, 0.01);
  // So that means stay what they are over all points.
  EXPECT_NEAR(wrong / 40000, 0.128, 0.005);
  EXPECT_NEAR(weights / 40000, 1, 0.005);
}

TEST(ErrorMap, DrawsEvenlyAtFirstAndWhenNothingIsWrong) {
  const std::int64_t points = 1000, batch = 10;
  ErrorMap map(points, batch, 1);
  const auto expect_even = [&] {
    std::vector<int> times(10);
    for (std::int64_t step = 0; step < 1000; ++step) {
      const ErrorMap::Draw drawn = map.draw(step);
      for (const float weight : drawn.weights.values<float>()) ASSERT_EQ(weight, 1.0f);
      const Points at = drawn.points.values<std::int64_t>();
      for (std::size_t i = 0; i < at.size(); ++i) {
        ASSERT_EQ(at[i] / 100, static_cast<std::int64_t>(i));  // one of each run of 100
        ++times[static_cast<std::size_t>(at[i] % 100 / 10)];
      }
    }
    for (const int n : times) EXPECT_NEAR(n, 1000, 180);  // six standard deviations
  };
  expect_even();
  for (int i = 0; i < 2000; ++i) note_all(map, std::vector<float>(points, 0.0f));
  expect_even();
}

TEST(ErrorMap, TakesTheFirstErrorOfATileAsItIs) {
  ErrorMap map(256, 32, 1);
  const auto note = [&](std::int64_t point, float error) {
    map.note(Tensor::from<std::int64_t>({1}, Points{point}), full({1}, error));
  };
  EXPECT_EQ(map.errors().values<float>(), (std::vector<float>{-1, -1, -1, -1}));
  note(70, 0.25f);
  EXPECT_EQ(map.errors().values<float>(), (std::vector<float>{-1, 0.25f, -1, -1}));
  note(127, 0.5f);
  EXPECT_FLOAT_EQ(map.errors().values<float>()[1], 0.275f);
}

TEST(ErrorMap, TakesWhatItHasNotSeenForTheMeanOfTheRest) {
  ErrorMap map(256, 256, 1);
  for (const auto& [tile, error] : {std::pair{0, 0.0004f}, {1, 0.0036f}}) {
    Points points(64);
    std::iota(points.begin(), points.end(), tile * 64);
    map.note(Tensor::from<std::int64_t>({64}, points), full({64}, static_cast<double>(error)));
  }
  std::vector<double> times(4);
  for (std::int64_t step = 0; step < 200; ++step)
    for (const std::int64_t p : map.draw(step).points.values<std::int64_t>())
      ++times[static_cast<std::size_t>(p / 64)];
  // Roots of 0.02, 0.06 and the mean, 0.04, of which one half of the drawing makes 0.5, 1.5 and 1.
  EXPECT_NEAR(times[0] / (200 * 64), 0.75, 0.01);
  EXPECT_NEAR(times[1] / (200 * 64), 1.25, 0.01);
  EXPECT_NEAR(times[2] / (200 * 64), 1, 0.01);
  EXPECT_NEAR(times[3] / (200 * 64), 1, 0.01);
}

TEST(ErrorMap, SeesALargePictureSoonEnough) {
  const std::int64_t points = 40'000'000, batch = 1000;
  ErrorMap map(points, batch, 1);
  for (std::int64_t step = 0; step < 24; ++step) map.note(map.draw(step).points, ones({batch}));
  const std::vector<float> errors = map.errors().values<float>();
  const auto unseen = std::count(errors.begin(), errors.end(), -1.0f);
  EXPECT_LT(static_cast<double>(unseen) / static_cast<double>(errors.size()), 0.1);  // exp(-3) is 0.05
  EXPECT_GT(errors.size(), 7000u);
  EXPECT_EQ(ErrorMap::tile_for(1000, 100), 64);
}

// Of a mean over all points, each has its share: it comes as often as its weight says that it does.
TEST(ErrorMap, CountsEachPointOnceOnAverage) {
  const std::int64_t points = 330, batch = 40, steps = 20000;
  ErrorMap map(points, batch, 5);
  note_all(map, uneven(points));
  std::vector<double> counted(points);
  std::vector<int> times(points);
  for (std::int64_t step = 0; step < steps; ++step) {
    const ErrorMap::Draw drawn = map.draw(step);
    const Points at = drawn.points.values<std::int64_t>();
    const std::vector<float> weights = drawn.weights.values<float>();
    for (std::size_t i = 0; i < at.size(); ++i) {
      counted[static_cast<std::size_t>(at[i])] += static_cast<double>(weights[i]);
      ++times[static_cast<std::size_t>(at[i])];
    }
  }
  // Six standard deviations of a count of 1200, the least that a point comes.
  const double expected = static_cast<double>(steps * batch) / static_cast<double>(points);
  for (const double c : counted) EXPECT_NEAR(c / expected, 1, 6 / std::sqrt(1200.0));
  // The points of a tile come alike often, tiles do not.
  for (std::size_t tile = 0; tile < 5; ++tile)
    for (std::size_t p = tile * 64; p < tile * 64 + 64; ++p) EXPECT_NEAR(times[p], times[tile * 64], 500);
  EXPECT_GT(times[2 * 64], times[0] * 3 / 2);
}

TEST(ErrorMap, GoesOnWhereAnotherWasAndRefusesErrorsThatCannotBe) {
  ErrorMap one(1000, 100, 3), other(1000, 100, 3);
  note_all(one, uneven(1000));
  one.load(one.errors());
  other.load(one.errors());
  EXPECT_EQ(other.draw(5).points.values<std::int64_t>(), one.draw(5).points.values<std::int64_t>());
  EXPECT_EQ(other.draw(5).weights.values<float>(), one.draw(5).weights.values<float>());
  const std::vector<float> before = other.errors().values<float>();
  for (const float bad : {NAN, INFINITY, -INFINITY, -0.5f, -2.0f}) {
    std::vector<float> errors(16, 0.5f);
    errors[15] = bad;
    const auto error = test::thrown_by<IoError>([&] { other.load(Tensor::from<float>({16}, errors)); });
    EXPECT_EQ(error.kind(), IoError::Kind::corrupt) << bad;
    EXPECT_NE(error.why().find("tile 15"), std::string::npos) << error.why();
    EXPECT_EQ(other.errors().values<float>(), before) << bad;
  }
}

TEST(ErrorMap, ReachesEveryPointOfALongRun) {
  const ErrorMap map(std::int64_t{1} << 26, 1, 4);  // one run: 24 bits reach each fourth point alone
  std::vector<int> times(4);
  for (std::int64_t step = 0; step < 100; ++step)
    ++times[static_cast<std::size_t>(map.draw(step).points.values<std::int64_t>()[0] % 4)];
  for (const int n : times) EXPECT_GT(n, 8);
}

TEST(ErrorMap, DrawsTheSameByAnyNumberOfThreads) {
  const std::int64_t points = 200000;  // several pieces of both tiles and points
  ErrorMap map(points, 5000, 2);
  note_all(map, uneven(points));
  const test::ThreadsScope scope;
  const auto drawn_by = [&](int n) {
    set_num_threads(n);
    const ErrorMap::Draw drawn = map.draw(3);
    return std::pair(drawn.points.values<std::int64_t>(), drawn.weights.values<float>());
  };
  const auto one = drawn_by(1);
  EXPECT_TRUE(std::is_sorted(one.first.begin(), one.first.end()));
  EXPECT_EQ(drawn_by(2), one);
  EXPECT_EQ(drawn_by(5), one);
}

}  // namespace
}  // namespace veldt::field
