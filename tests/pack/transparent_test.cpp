// Clear pixels have the colours around them, and all others their own.
#include "veldt/pack/transparent.h"

#include <gtest/gtest.h>

namespace veldt::pack {
namespace {

TEST(Transparent, ClearPixelsHaveTheColoursAroundThem) {
  const Size size{9, 5};
  std::vector<std::uint8_t> rgb(9 * 5 * 3, 7), alpha(9 * 5, 0);
  for (const std::size_t i : {0u, 12u, 40u}) alpha[i] = 1;
  rgb[0] = 200;
  const std::vector<std::uint8_t> filled = clear_filled(rgb, alpha, size);
  EXPECT_EQ(filled[0], 200);
  EXPECT_EQ(filled[3], 200);     // of the same square of two
  EXPECT_EQ(filled[3 * 12], 7);  // seen
  EXPECT_EQ(filled[3 * 2], 7);   // beside it
  EXPECT_GT(filled[3 * 20], 7);  // a mean of both
  EXPECT_EQ(filled[3 * 20 + 1], 7);
}

TEST(Transparent, NothingSeenIsBlackAndAllSeenIsAsItWas) {
  const std::vector<std::uint8_t> rgb(12, 9);
  EXPECT_EQ(clear_filled(rgb, std::vector<std::uint8_t>(4, 0), {2, 2}), std::vector<std::uint8_t>(12, 0));
  EXPECT_EQ(clear_filled(rgb, std::vector<std::uint8_t>(4, 1), {2, 2}), rgb);
}

}  // namespace
}  // namespace veldt::pack
