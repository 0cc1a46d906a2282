// What a sweep varies: lists, ranges, and what neither is.
#include "veldt/recipe/sweep_axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace veldt::recipe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Recipe& base_recipe() {
  static const Recipe recipe = parse(
      "[data]\nkind = \"table\"\npath = \"a.csv\"\ntarget = \"y\"\n[values]\nwidth = 8\n"
      "[model]\nlayers = [\"Linear(width)\", \"Linear(outputs)\"]\n[train]\nsteps = 3\n");
  return recipe;
}
std::vector<std::string> listed(const std::string& over) {
  return sweep_axis(base_recipe(), over, false).values;
}

std::string refusal_of(const std::string& over, bool random = false) {
  try {
    sweep_axis(base_recipe(), over, random);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "nothing";
}

TEST(SweepAxis, IsAListOfValues) {
  EXPECT_THAT(listed("optimizer.lr=1e-3, 3e-3,0.1"), ElementsAre("1e-3", "3e-3", "0.1"));
  EXPECT_THAT(listed("optimizer.kind=adam"), ElementsAre("adam"));
  EXPECT_EQ(sweep_axis(base_recipe(), "width=8,16", false).key, "values.width");
  EXPECT_EQ(sweep_axis(base_recipe(), " values.width = 8,16", false).key, "values.width");
}

TEST(SweepAxis, IsNotDividedInBracketsAndQuotes) {
  EXPECT_THAT(listed("optimizer.schedule=cosine, one_cycle(rise=0.1, start_divisor=9),constant"),
              ElementsAre("cosine", "one_cycle(rise=0.1, start_divisor=9)", "constant"));
  EXPECT_THAT(listed("model.layers=[\"Linear(outputs)\"],[\"Linear(4)\", \"Linear(outputs)\"]"),
              ElementsAre("[\"Linear(outputs)\"]", "[\"Linear(4)\", \"Linear(outputs)\"]"));
  EXPECT_THAT(listed("data.path=\"a,b\\\",\",'c,]'"), ElementsAre("\"a,b\\\",\"", "'c,]'"));
  EXPECT_THAT(listed("data.augment=[],[\"horizontal_flip\"]"), ElementsAre("[]", "[\"horizontal_flip\"]"));
}

TEST(SweepAxis, RefusesWhatIsNone) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"optimizer.lr", "it gives no values"},
      {"=1,2", "it names no key"},
      {"optimizer.lr=", "the list of values is empty"},
      {"optimizer.lr= ", "the list of values is empty"},
      {"optimizer.lr=1,,2", "one of its values is empty"},
      {"optimizer.lr=1,2,", "one of its values is empty"},
      {"optimizer.lr=0.001,1e-3", "1e-3 is there twice"},
      {"train.steps=1000,1k", "1k is there twice"},
      {"optimizer.kind=sgd,adam,sgd", "sgd is there twice"},
      {"optimizer.lr=1,fast", "--over optimizer.lr"},
      {"optimizer.lr=1,-1", "--over optimizer.lr"},
      {"data.batch=1.5", "--over data.batch"},
      {"optimizer.kind=adm", "did you mean 'adam'?"},
      {"optimizer.lrr=1,2", "did you mean 'optimizer.lr'?"},
      {"nonsense=1,2", "there is nothing called 'nonsense'"},
      {"model.width=1,2", "did you mean 'values.width'?"},
      {"train.seed=1,2", "--seeds 3"},
      {"optimizer.schedule=step(3,cosine", "its brackets do not match"},
      {"optimizer.schedule=step),cosine", "its brackets do not match"},
      {"data.path=\"a,b", "a quote is not closed"},
      {"optimizer.lr=log(1e-4,1e-1)", "--random 20"},
  };
  for (const auto& [over, words] : cases) EXPECT_THAT(refusal_of(over), HasSubstr(words)) << over;
}

TEST(SweepAxis, RefusesRangesThatAreNone) {
  for (const char* over :
       {"optimizer.lr=log(0,1)", "optimizer.lr=log(-1,1)", "optimizer.lr=log(1,1)", "optimizer.lr=log(2,1)",
        "optimizer.lr=log(1)", "optimizer.lr=log(1,2,3)", "optimizer.lr=uniform(-1,1)",
        "optimizer.momentum=uniform(0.5,2)", "width=whole(1.5,2)", "data.batch=uniform(1.2,1.8)",
        "optimizer.lr=normal(0,1)", "optimizer.lr=log(1e-3,nan)"})
    EXPECT_NE(refusal_of(over, true), "nothing") << over;
}

TEST(SweepAxis, DrawsFromRangesAndLists) {
  const SweepAxis lr = sweep_axis(base_recipe(), "optimizer.lr=log(1e-4,1e-1)", true),
                  width = sweep_axis(base_recipe(), "width=whole(3,5)", true),
                  batch = sweep_axis(base_recipe(), "data.batch=log(4,64)", true),
                  kind = sweep_axis(base_recipe(), "optimizer.kind=sgd,adam", true);
  Rng rng(1);
  int below = 0;
  std::set<std::string> widths, kinds;
  for (int i = 0; i < 1000; ++i) {
    const double rate = std::stod(drawn_value(lr, rng));
    EXPECT_TRUE(rate >= 1e-4 && rate <= 1e-1);
    below += rate < 3.1623e-3;  // half of the decades
    widths.insert(drawn_value(width, rng));
    kinds.insert(drawn_value(kind, rng));
    const std::string whole = drawn_value(batch, rng);
    EXPECT_EQ(whole.find_first_not_of("0123456789"), std::string::npos) << whole;
    check_set({}, "data.batch=" + whole);
  }
  EXPECT_NEAR(below, 500, 60);
  EXPECT_THAT(widths, ElementsAre("3", "4", "5"));
  EXPECT_THAT(kinds, ElementsAre("adam", "sgd"));
}

}  // namespace
}  // namespace veldt::recipe
