// The known word nearest to a mistyped one.
#include "veldt/io/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace veldt::io {
namespace {

TEST(Suggest, CountsEdits) {
  EXPECT_EQ(edit_distance("steps", "steps"), 0);
  EXPECT_EQ(edit_distance("stpes", "steps"), 1);  // neighbours swapped
  EXPECT_EQ(edit_distance("step", "steps"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(Suggest, NamesTheNearestOrTheOneBegun) {
  const std::vector<std::string> known = {"--steps", "--seed", "--checkpoint", "-o"};
  EXPECT_EQ(nearest_of("--stpes", known), "--steps");
  EXPECT_EQ(nearest_of("--check", known), "--checkpoint");
  EXPECT_EQ(nearest_of("--colour", known), "");
  EXPECT_EQ(nearest_of("noise", {"gaussian_noise", "gaussian_blur"}), "gaussian_noise");
  EXPECT_EQ(nearest_of("gaus", {"a_gaussian_noise", "a_gaussian_blur"}), "");  // either
  EXPECT_EQ(nearest_of("bor", {"the_labor_of_it"}), "");                       // too short
  EXPECT_EQ(nearest_of("", known), "");
  EXPECT_EQ(nearest_of("--", known), "");
  EXPECT_EQ(nearest_of(std::string(100'000, 'a'), known), "");
}

}  // namespace
}  // namespace veldt::io
