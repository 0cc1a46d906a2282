// The range coder: what comes back, how many bytes it takes, and bytes that nobody wrote.
#include "veldt/codec/range_coder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace veldt::codec {
namespace {

struct Symbol {
  std::uint32_t start, size;
};

// Symbols of an alphabet whose first takes `most` of the whole.
std::vector<Symbol> skewed(std::uint32_t most, int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Symbol> symbols;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t at = random() & (kWhole - 1);
    symbols.push_back(at < most ? Symbol{0, most} : Symbol{at, 1});
  }
  return symbols;
}

TEST(RangeCoder, SymbolsComeBackInTheBytesOfTheirEntropy) {
  for (const std::uint32_t most : {1u, 30000u, 65000u, 65535u}) {
    const std::vector<Symbol> symbols = skewed(most, 40000, most);
    RangeEncoder out;
    double entropy = 0;
    for (const Symbol s : symbols) {
      out.encode(s.start, s.size);
      entropy += 16 - std::log2(s.size);
    }
    const std::string bytes = out.finish();
    EXPECT_LE(static_cast<double>(bytes.size()), entropy / 8 * 1.001 + 4) << most;
    RangeDecoder in(bytes);
    for (const Symbol s : symbols) {
      const std::uint32_t found = in.peek();
      ASSERT_TRUE(found >= s.start && found < s.start + s.size) << most;
      in.take(s.start, s.size);
    }
  }
}

TEST(RangeCoder, ACarryGoesThroughAnyNumberOfBytes) {
  // The highest symbol again and again leaves bytes of 255; a carry after them changes all of them.
  for (int length = 0; length < 40; ++length)
    for (const std::uint32_t last : {0u, 1u, kWhole - 2, kWhole - 1}) {
      RangeEncoder out;
      for (int i = 0; i < length; ++i) out.encode(kWhole - 1, 1);
      out.encode(last, 1);
      out.encode(kWhole - 3, 3);
      const std::string bytes = out.finish();
      RangeDecoder in(bytes);
      for (int i = 0; i < length; ++i) {
        ASSERT_EQ(in.peek(), kWhole - 1) << length;
        in.take(kWhole - 1, 1);
      }
      ASSERT_EQ(in.peek(), last) << length;
      in.take(last, 1);
      ASSERT_GE(in.peek(), kWhole - 3) << length;
    }
}

TEST(RangeCoder, BitsAndGolombNumbersComeBack) {
  const std::vector<std::uint32_t> numbers = {0,   1,   2,     3,        7,          8,
                                              255, 256, 65535, 1u << 31, 0xfffffffe, 0xffffffff};
  RangeEncoder out;
  for (const std::uint32_t n : numbers) {
    out.golomb(n);
    out.bits(n, 32);
    out.bits(n & 0x1ff, 9);
  }
  const std::string bytes = out.finish();
  RangeDecoder in(bytes);
  for (const std::uint32_t n : numbers) {
    EXPECT_EQ(in.golomb(), n);
    EXPECT_EQ(in.bits(32), n);
    EXPECT_EQ(in.bits(9), n & 0x1ff);
  }
}

TEST(RangeCoder, NothingTakesNoBytes) { EXPECT_EQ(RangeEncoder().finish(), ""); }

TEST(RangeCoder, AnyBytesDecodeToSomething) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random() % 64, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    RangeDecoder in(bytes);
    for (int i = 0; i < 100; ++i) {
      const std::uint32_t found = in.peek();
      ASSERT_LT(found, kWhole);
      in.take(found, 1);
      in.golomb();
    }
  }
}

}  // namespace
}  // namespace veldt::codec
