// Lines of a list of layers: names, how often, words and arithmetic in arguments.
#include "veldt/recipe/item.h"

#include <gtest/gtest.h>

#include <string>

namespace veldt::recipe {
namespace {

UsageError refusal(const std::string& why, const std::string& fix) { return {"here", why, fix}; }
std::string put(const std::string& text) {
  const Words words{{"width", "64"}, {"outputs", "10"}, {"act", "LeakyReLU(0.2)"}, {"odd", "3"}, {"n", "-4"}};
  return resolved(text, words, refusal);
}

TEST(RecipeItem, HasANameACountAndACall) {
  const auto parts = [](const char* text) {
    const Item item = read_item(text, refusal);
    return item.name + '|' + item.count + '|' + item.call;
  };
  EXPECT_EQ(parts("ReLU"), "||ReLU");
  EXPECT_EQ(parts("stem: 2 x residual(64, stride=2)"), "stem|2|residual(64, stride=2)");
  EXPECT_EQ(parts(" depth x ReLU"), "|depth|ReLU");
  EXPECT_EQ(parts("head:Linear(outputs)"), "head||Linear(outputs)");
  EXPECT_EQ(parts("act(a=b: c x d)"), "||act(a=b: c x d)");
  for (const char* bad : {": ReLU", "1: ReLU", "a.b: ReLU", " x ReLU", "a b: ReLU"})
    EXPECT_THROW(read_item(bad, refusal), UsageError) << bad;
}

TEST(RecipeItem, WordsStandForNumbersAndTexts) {
  EXPECT_EQ(put("width"), "64");
  EXPECT_EQ(put("widths"), "widths");
  EXPECT_EQ(put("[width, 3]"), "[64, 3]");
  EXPECT_EQ(put("act"), "LeakyReLU(0.2)");
  EXPECT_EQ(put("Conv2d(width, width=odd)"), "Conv2d(64, width=3)");
  EXPECT_EQ(put("1e-3"), "1e-3");
  EXPECT_EQ(put("10k"), "10k");
  EXPECT_EQ(put("0.width"), "0.width");
  EXPECT_EQ(put("-1"), "-1");
}

TEST(RecipeItem, WholeNumbersAreComputed) {
  EXPECT_EQ(put("2*width"), "128");
  EXPECT_EQ(put("width / 4 + 1"), "17");
  EXPECT_EQ(put("1 + 2*odd - 4"), "3");
  EXPECT_EQ(put("[2*width, outputs-1]"), "[128, 9]");
  EXPECT_EQ(put("2*n"), "-8");
  for (const char* bad : {"width/odd", "width/0", "2*", "2**3", "9999999*9999999*9999999", "99999999999999*1",
                          "1 2*3", "/2 + 1"})
    EXPECT_THROW(put(bad), UsageError) << bad;
  // What is no arithmetic stays as it is, for whoever reads it.
  EXPECT_EQ(put("a*b"), "a*b");
  Words growing{{"a", std::string(3000, 'b')}};
  EXPECT_THROW(resolved("a a", growing, refusal), UsageError);
}

}  // namespace
}  // namespace veldt::recipe
