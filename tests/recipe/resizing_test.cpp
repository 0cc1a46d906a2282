// What train.progressive_resizing shows a network: the sides of its pictures at each step, and what is
// refused.
#include "veldt/recipe/resizing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/recipe/model.h"
#include "veldt/recipe/trainer.h"

namespace veldt::recipe {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Recipe recipe_of_sides(const std::string& pool, const std::string& train) {
  return parse(
      "[data]\nkind = \"mnist\"\npath = \"mnist\"\n[model]\nlayers = [\"Conv2d(2, 3, padding=1)\", " + pool +
      "\"Flatten\", \"Linear(outputs)\"]\n[train]\n" + train);
}

const std::string kPool = "\"AdaptiveAvgPool2d(1)\", ";
Facts facts_of_pictures() {
  Facts facts;
  facts.model = {.input = {1, 28, 20}, .outputs = 10};
  return facts;
}
const Facts kPictureFacts = facts_of_pictures();

TEST(Resizing, ShowsSmallPicturesAtFirst) {
  const Recipe recipe = recipe_of_sides(kPool,
                                        "epochs = 1\nprogressive_resizing = \"linear(initial_scale=0.5, "
                                        "finetune_fraction=0.4, size_increment=2)\"\n");
  const nn::Graph network = build_model(recipe, kPictureFacts.model);
  const auto adapt = adapt_of(recipe, kPictureFacts, network, 10);
  ASSERT_TRUE(adapt);
  std::vector<std::int64_t> heights, widths;
  for (const std::int64_t step : {0, 3, 5, 6, 9}) {
    data::Batch batch{zeros({3, 1, 28, 20}), zeros({3}, DType::i64)};
    adapt->change(step, batch);
    heights.push_back(batch[0].size(2)), widths.push_back(batch[0].size(3));
    EXPECT_EQ(batch[1].shape(), Shape{3});
  }
  EXPECT_THAT(heights, ElementsAre(14, 20, 24, 28, 28));
  EXPECT_THAT(widths, ElementsAre(10, 14, 18, 20, 20));
  EXPECT_THAT(adapt->text, HasSubstr("10 steps"));
  EXPECT_NE(adapt->text, adapt_of(recipe, kPictureFacts, network, 11)->text);
}

// Small and whole pictures fit, those between do not.
TEST(Resizing, TriesEachSizeBeforeTheFirstStep) {
  const auto with = [](const std::string& increment) {
    const Recipe recipe =
        recipe_of_sides("\"PixelUnshuffle(4)\", " + kPool,
                        "epochs = 1\nprogressive_resizing = \"linear(size_increment=" + increment + ")\"\n");
    Facts facts;
    facts.model = {.input = {1, 32, 32}, .outputs = 10};
    const nn::Graph network = build_model(recipe, facts.model);
    adapt_of(recipe, facts, network, 1'000'000'000'000);
  };
  with("8");
  EXPECT_THAT(test::error_of<UsageError>([&] { with("2"); }),
              AllOf(HasSubstr("18 x 18, from step"), HasSubstr("size_increment")));
}

TEST(Resizing, RefusesWhatCannotBe) {
  const Recipe dense = recipe_of_sides("", "epochs = 1\nprogressive_resizing = \"linear()\"\n");
  const nn::Graph network = build_model(dense, kPictureFacts.model);
  EXPECT_THAT(test::error_of<UsageError>([&] { adapt_of(dense, kPictureFacts, network, 10); }),
              AllOf(HasSubstr("recipe:8"), HasSubstr("8 x 12"), HasSubstr("AdaptiveAvgPool2d")));
  const Recipe by_time = recipe_of_sides(kPool, "time = \"3s\"\nprogressive_resizing = \"linear()\"\n");
  EXPECT_THAT(test::error_of<UsageError>([&] { check_training(by_time); }),
              AllOf(HasSubstr("recipe:8"), HasSubstr("train.epochs")));
  EXPECT_FALSE(adapt_of(recipe_of_sides(kPool, "epochs = 1\n"), kPictureFacts, network, 10));
}

}  // namespace
}  // namespace veldt::recipe
