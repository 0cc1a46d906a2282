// Columns that matter and columns that do not.
#include "veldt/explain/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"

namespace veldt::explain {
namespace {

// 3 a, whatever b is.
std::vector<double> three_times_the_first(const Tensor& rows) {
  std::vector<double> found;
  for (std::int64_t i = 0; i < rows.size(0); ++i) found.push_back(3 * rows(i, 0).item());
  return found;
}

TEST(ExplainTables, OnlyAColumnThatIsUsedIsImportant) {
  Rng rng(1);
  const Tensor rows = randn({50, 2}, rng);
  const std::vector<double> truths = three_times_the_first(rows);
  const auto score = [&](const Tensor& changed) {
    const std::vector<double> found = three_times_the_first(changed);
    double error = 0;
    for (std::size_t i = 0; i < found.size(); ++i) error += std::abs(found[i] - truths[i]);
    return -error;
  };
  const std::vector<Importance> found = permutation_importance(score, rows, {.repeats = 4});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_GT(found[0].mean, 50);
  EXPECT_GT(found[0].deviation, 0);
  EXPECT_EQ(found[1].mean, 0);
  EXPECT_EQ(found[0].losses.size(), 4U);
  EXPECT_EQ(found[0].losses, permutation_importance(score, rows, {.repeats = 4})[0].losses);
}

TEST(ExplainTables, DependenceFollowsTheFormula) {
  Rng rng(2);
  const Tensor rows = randn({40, 2}, rng);
  const Dependence on_first = partial_dependence(three_times_the_first, rows, 0, 5);
  ASSERT_EQ(on_first.values.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(on_first.predictions[i], 3 * on_first.values[i], 1e-5);
  const Dependence on_second = partial_dependence(three_times_the_first, rows, 1, 5);
  for (const double value : on_second.predictions) EXPECT_NEAR(value, on_second.predictions[0], 1e-9);
  EXPECT_EQ(partial_dependence(three_times_the_first, ones({9, 2}), 0).values.size(), 1U);
}

TEST(ExplainTables, RefuseWhatIsNoTable) {
  const auto score = [](const Tensor&) { return 0.0; };
  EXPECT_THROW(permutation_importance(score, ones({1, 2})), ShapeError);
  EXPECT_THROW(permutation_importance(score, ones({3})), ShapeError);
  EXPECT_THROW(permutation_importance(score, ones({3, 2}), {.repeats = 0}), ConfigError);
  EXPECT_THROW(partial_dependence(three_times_the_first, ones({3, 2}), 2), ConfigError);
  EXPECT_THROW(partial_dependence(three_times_the_first, full({3, 2}, NAN), 0), ConfigError);
  EXPECT_THROW(partial_dependence(three_times_the_first, ones({3, 2}), 0, 1), ConfigError);
}

}  // namespace
}  // namespace veldt::explain
