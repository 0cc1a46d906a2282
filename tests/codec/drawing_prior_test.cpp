// The network that knows drawings: it goes on with an edge, and is silent where there is none.
#include "veldt/codec/drawing_prior.h"

#include <gtest/gtest.h>

#include <vector>

namespace veldt::codec {
namespace {

constexpr std::ptrdiff_t kPriorStride = 32;

// What is guessed at (16, 16) of a picture of 0 and 1.
template <class Ink> std::optional<std::int32_t> guess_at(const Ink& ink) {
  std::vector<std::uint8_t> pixels(32 * 32);
  for (int y = 0; y < 32; ++y)
    for (int x = 0; x < 32; ++x) pixels[static_cast<std::size_t>(y * 32 + x)] = ink(x, y) ? 1 : 0;
  return prior_logit(pixels.data() + 16 * kPriorStride + 16, kPriorStride);
}

TEST(DrawingPrior, SaysNothingWhereAllIsAlike) {
  EXPECT_FALSE(guess_at([](int, int) { return false; }));
  EXPECT_FALSE(guess_at([](int, int) { return true; }));
  EXPECT_FALSE(guess_at([](int x, int y) { return y > 16 || (y == 16 && x >= 16); })) << "not known yet";
}

TEST(DrawingPrior, GoesOnWithLinesAndEdges) {
  const auto ones = {
      guess_at([](int x, int) { return x == 16; }), guess_at([](int x, int) { return x > 13; }),
      guess_at([](int x, int y) { return x == y; }), guess_at([](int, int y) { return y > 13; })};
  for (const auto& one : ones) EXPECT_GT(one.value_or(0), 384) << "82 %";
  const auto zeros = {guess_at([](int x, int) { return x == 14; }),
                      guess_at([](int x, int) { return x < 14; }),
                      guess_at([](int x, int y) { return x + 3 == y; })};
  for (const auto& zero : zeros) EXPECT_LT(zero.value_or(0), -384);
}

}  // namespace
}  // namespace veldt::codec
