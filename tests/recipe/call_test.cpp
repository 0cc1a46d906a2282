// A name with arguments, as recipes write layers.
#include "veldt/recipe/call.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace veldt::recipe {
namespace {

TEST(Call, TakesArgumentsByPlaceAndByName) {
  Call call({"here", ""}, "Conv2d(6, kernel=[3, 5], bias = off)", {{"outputs", "10"}});
  EXPECT_EQ(call.name(), "Conv2d");
  EXPECT_EQ(call.count("out"), 6);
  EXPECT_EQ(call.numbers("kernel"), (std::vector<double>{3, 5}));
  EXPECT_EQ(call.count("stride", 2), 2);
  EXPECT_FALSE(call.on("bias", true));
  call.finish();
  Call word({"here", ""}, "Linear(outputs)", {{"outputs", "10"}});
  EXPECT_EQ(word.count("out"), 10);
  for (const char* bad :
       {"", "3", "Linear(", "Linear(1))(", "Linear(a=1, 2)", "Linear(a=1, a=2)", "Linear(=1)", "Linear(,)"})
    EXPECT_THROW(
        {
          Call c({"here", ""}, bad);
          c.count("a", 1);
          c.count("b", 1);
          c.finish();
        },
        UsageError)
        << bad;
}

}  // namespace
}  // namespace veldt::recipe
