// Integers through the model of their probability: what comes back, and what it costs beside the formula.
#include "veldt/codec/laplace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace veldt::codec {
namespace {

double tail(double x) { return x < 0 ? 0.5 * std::exp(x) : 1 - 0.5 * std::exp(-x); }

// -log2 of the probability of the cell of `value`, by the formula.
double exact_bits(double mean, double b, int value) {
  return -std::log2(tail((value + 0.5 - mean) / b) - tail((value - 0.5 - mean) / b));
}

TEST(Laplace, EveryValueComesBack) {
  std::mt19937 random(1);
  std::vector<std::pair<Laplace, std::int32_t>> coded;
  for (int scale = -1; scale <= kScales; ++scale)
    for (const std::int32_t mean16 : {0, 7, -8, 8, 100, -1 << 24, 1 << 24})
      for (int i = 0; i < 20; ++i) {
        const int width = 1 << (random() % 12);
        const auto away = static_cast<std::int32_t>(random() % (2u * static_cast<unsigned>(width))) - width;
        coded.push_back({{mean16, scale}, mean16 / 16 + away});
      }
  for (const std::int32_t far : {INT32_MAX, INT32_MIN}) coded.push_back({{0, 40}, far});
  RangeEncoder out;
  for (const auto& [distribution, value] : coded) encode(out, distribution, value);
  const std::string bytes = out.finish();
  RangeDecoder in(bytes);
  for (const auto& [distribution, value] : coded)
    ASSERT_EQ(decode(in, distribution), value) << distribution.mean16 << " " << distribution.scale;
}

TEST(Laplace, CostsWhatTheFormulaSays) {
  for (const int scale : {16, 40, 48, 64, 80, 96}) {
    const double b = std::exp2(scale / 8.0 - 6);
    for (const int mean16 : {0, 3, -7, 40}) {
      double cost = 0, exact = 0;  // the mean over values that follow the distribution
      for (int value = -700; value <= 700; ++value) {
        const double bits = exact_bits(mean16 / 16.0, b, value);
        if (!(bits < 40)) continue;
        cost += std::exp2(-bits) * bits_of({mean16, scale}, value);
        exact += std::exp2(-bits) * bits;
      }
      EXPECT_NEAR(cost, exact, 0.002 * exact + 0.003) << scale << " " << mean16;
    }
  }
}

TEST(Laplace, TheBitsAreThoseOfTheCoder) {
  std::mt19937 random(2);
  RangeEncoder out;
  double bits = 0;
  for (int i = 0; i < 20000; ++i) {
    const Laplace d{static_cast<std::int32_t>(random() % 64) - 32, static_cast<int>(random() % kScales)};
    const double u = static_cast<double>(random()) / 4294967296.0 - 0.5;
    const double x =
        d.mean16 / 16.0 - std::exp2(d.scale / 8.0 - 6) * std::copysign(std::log1p(-2 * std::abs(u)), u);
    const auto value = static_cast<std::int32_t>(std::lround(x));
    encode(out, d, value);
    bits += bits_of(d, value);
  }
  EXPECT_NEAR(static_cast<double>(out.finish().size()), bits / 8, bits / 8 * 0.001 + 4);
}

// Every machine computes the same table: a digest of many probabilities.
TEST(Laplace, TheTablesAreTheSameEverywhere) {
  RangeEncoder out;
  for (int scale = 0; scale < kScales; ++scale)
    for (int k = -20; k <= 20; ++k) encode(out, {5 * k, scale}, k / 3);
  std::uint64_t digest = 14695981039346656037ull;  // FNV-1a
  for (const char c : out.finish()) digest = (digest ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  EXPECT_EQ(digest, 7281547452739031572u);
}

TEST(Laplace, AnyBytesDecodeToSomething) {
  std::mt19937 random(4);
  std::string bytes(2000, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  bytes += std::string(100, '\xff') + std::string(100, '\0');
  RangeDecoder in(bytes);
  for (int i = 0; i < 20000; ++i)
    decode(in, {static_cast<std::int32_t>(random() % 4096) - 2048, static_cast<int>(random() % kScales)});
}

}  // namespace
}  // namespace veldt::codec
