// Data sets made of functions, tensors and each other.
#include "veldt/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"

namespace veldt::data {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

// Example i is {i}.
DatasetPtr numbers(std::int64_t size) {
  return from_tensors({arange(0, static_cast<double>(size))}, {"even", "odd"});
}

std::vector<double> all_of(const DatasetPtr& set) {
  std::vector<double> found;
  for (std::int64_t i = 0; i < set->size(); ++i) found.push_back(set->get(i)[0].item());
  return found;
}

TEST(Dataset, HasRowsOfTensorsAsExamples) {
  const DatasetPtr set = from_tensors({Tensor::of({2, 3}, {1, 2, 3, 4, 5, 6}), Tensor::of({2}, {7, 8})});
  ASSERT_EQ(set->size(), 2);
  const Example example = set->get(1);
  EXPECT_THAT(example[0].values<float>(), ElementsAre(4, 5, 6));
  EXPECT_EQ(example[1].shape(), Shape{});
  EXPECT_EQ(example[1].item(), 8);
  EXPECT_EQ(set->name_of(1), "example 1");
}

TEST(Dataset, NamesBothShapesWhenRowsDoNotMatch) {
  EXPECT_THAT(error_of<ShapeError>([] {
                from_tensors({zeros({3, 2}), zeros({4})});
              }),
              HasSubstr("rows of [3, 2] and [4]"));
  EXPECT_THAT(error_of<ConfigError>([] { from_tensors({}); }), HasSubstr("needs a tensor"));
}

TEST(Dataset, IsMadeOfOthers) {
  const DatasetPtr doubled = mapped(numbers(4), [](Example e) -> Example { return {e[0] * 2.0}; });
  EXPECT_THAT(all_of(doubled), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(all_of(subset(doubled, {3, 0, 3})), ElementsAre(6, 0, 6));
  EXPECT_THAT(all_of(concatenated({numbers(2), doubled, numbers(1)})), ElementsAre(0, 1, 0, 2, 4, 6, 0));
  EXPECT_THAT(concatenated({numbers(2), doubled})->classes(), ElementsAre("even", "odd"));
  EXPECT_EQ(subset(concatenated({numbers(2), doubled}), {4})->name_of(0), "example 2");
  EXPECT_THAT(error_of<ConfigError>([] { subset(numbers(4), {1, 4}); }), HasSubstr("no example 4"));
  EXPECT_THAT(error_of<ConfigError>([] { from_function(-1, {}); }), HasSubstr("-1 examples"));
}

TEST(Dataset, SplitsIntoDisjointPartsThatTheSeedChooses) {
  const auto [train, validation] = split(numbers(50), 0.2, 7);
  EXPECT_EQ(train->size(), 40);
  EXPECT_EQ(validation->size(), 10);
  std::vector<double> both = all_of(train), second = all_of(validation);
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(std::set<double>(both.begin(), both.end()).size(), 50u);
  EXPECT_EQ(all_of(split(numbers(50), 0.2, 7).second), second);
  EXPECT_NE(all_of(split(numbers(50), 0.2, 8).second), second);
  EXPECT_EQ(split(numbers(50), 0, 1).second->size(), 0);
  EXPECT_EQ(split(numbers(50), 1, 1).first->size(), 0);
  EXPECT_THAT(error_of<ConfigError>([] { split(numbers(5), 1.5, 1); }), HasSubstr("a share of 1.5"));
}

}  // namespace
}  // namespace veldt::data
