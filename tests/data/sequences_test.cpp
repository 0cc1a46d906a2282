// Windows over tokens and over a time series: which examples there are, and what follows each.
#include "veldt/data/sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Windows, RunOverTokens) {
  const DatasetPtr set = token_windows(arange(6), 3);
  ASSERT_EQ(set->size(), 3);
  const Example last = set->get(2);
  EXPECT_THAT(last[0].values<std::int64_t>(), ElementsAre(2, 3, 4));
  EXPECT_THAT(last[1].values<std::int64_t>(), ElementsAre(3, 4, 5));
  EXPECT_EQ(token_windows(arange(4), 3)->size(), 1);
  EXPECT_THAT(error_of<ConfigError>([] { token_windows(arange(3), 3); }), HasSubstr("no window of 3"));
  EXPECT_THAT(error_of<ShapeError>([] { token_windows(zeros({3}), 2); }), HasSubstr("f32 [3]"));
}

TEST(Windows, RunOverSeries) {
  const DatasetPtr set = series_windows(reshape(to(arange(12), DType::f32), {6, 2}), 3, 2);
  ASSERT_EQ(set->size(), 2);
  EXPECT_THAT(set->get(1)[0].values<float>(), ElementsAre(2, 3, 4, 5, 6, 7));
  EXPECT_THAT(set->get(1)[1].values<float>(), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(error_of<ConfigError>([] {
                series_windows(zeros({4, 1}), 3, 2);
              }),
              HasSubstr("no window of 2 in 1"));
  EXPECT_THAT(error_of<ShapeError>([] { series_windows(zeros({4}), 3); }), HasSubstr("[n, features]"));
}

}  // namespace
}  // namespace veldt::data
