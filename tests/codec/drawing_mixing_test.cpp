// Probabilities in integers beside the formulas in f64, and the cost of bits whose contexts say much.
#include "veldt/codec/drawing_mixing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace veldt::codec {
namespace {

TEST(DrawingMixing, TheLogisticFunctionIsRight) {
  for (std::int32_t x = -kMostLogit - 5; x <= kMostLogit + 5; x += 7) {
    const double exact = 65536 / (1 + std::exp(-std::clamp(x, -kMostLogit, kMostLogit) / 256.0));
    EXPECT_NEAR(probability_of(x), exact, 0.6) << x;
  }
  for (std::uint32_t p = 1; p < 65536; p += 13) {
    const double of = std::clamp<double>(p, 4, 65532), exact = 256 * std::log(of / (65536 - of));
    EXPECT_NEAR(logit_of(p), exact, 1.5 + 256 * 4 / std::min(of, 65536 - of)) << p;
  }
}

// Two guesses of which one is right: the mixer finds out which.
TEST(DrawingMixing, TheBetterGuessWins) {
  std::mt19937 random(1);
  BitMixer mixer(2, 1, 16000, 6);
  double bits = 0;
  constexpr int kBits = 20000;
  for (int i = 0; i < kBits; ++i) {
    const bool bit = random() % 2 == 1;
    mixer.guess(0, bit ? 600 : -600);  // right, and says 91 %
    mixer.guess(1, random() % 2 == 1 ? 600 : -600);
    const std::uint32_t one = mixer.mix(0);
    bits -= std::log2((bit ? one : kWhole - one) / 65536.0);
    mixer.learn(bit);
  }
  EXPECT_LT(bits / kBits, 0.02);
}

TEST(DrawingMixing, ACountIsTheShareOfOnes) {
  std::mt19937 random(2);
  BitCount count;
  for (int i = 0; i < 3000; ++i) count.see(random() % 10 < 3, 250);
  EXPECT_NEAR(count.one / 65536.0, 0.3, 0.08);
}

}  // namespace
}  // namespace veldt::codec
