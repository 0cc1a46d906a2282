// The networks of a packed photograph as integers and as bytes.
#include "veldt/codec/networks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/codec/some_networks.h"
#include "veldt/codec/networks_code.h"

namespace veldt::codec {
namespace {

TEST(PackedNetworks, TheGroupsAreAllNumbers) {
  std::size_t next = 0;
  for (const Group& g : groups()) {
    EXPECT_EQ(g.first, next);
    next += g.count;
  }
  EXPECT_EQ(next, kNumbers);
}

TEST(PackedNetworks, IntegersAreTheNearestOfTheFloats) {
  const Networks<float> floats = some_networks(1);
  const Networks<float> back = to_floats(to_integers(floats));
  for (const Group& g : groups())
    for (std::size_t i = g.first; i < g.first + g.count; ++i)
      ASSERT_NEAR(back.numbers()[i], floats.numbers()[i], std::ldexp(0.51, -g.bits)) << i;
}

TEST(PackedNetworks, HugeNumbersStayIntegers) {
  Networks<float> floats = some_networks(1);
  floats.numbers()[3] = 1e30f;
  floats.numbers()[4] = -1e30f;
  const Networks<std::int32_t> integers = to_integers(floats);
  EXPECT_EQ(integers.numbers()[3], 1 << 30);
  EXPECT_EQ(integers.numbers()[4], -(1 << 30));
}

TEST(PackedNetworks, ChangesComeBackInFewBytes) {
  const Networks<std::int32_t> base = to_integers(some_networks(1));
  Shifts shifts;
  shifts.fill(3);
  {
    RangeEncoder out;
    encode_networks(out, base, base, shifts);
    EXPECT_LE(out.finish().size(), kGroups / 8 + 1);  // nothing is changed
  }
  Networks<std::int32_t> changed = base;
  std::mt19937 random(2);
  for (const std::size_t g : {std::size_t{0}, std::size_t{4}, kGroups - 2})
    for (std::size_t i = groups()[g].first; i < groups()[g].first + groups()[g].count; ++i)
      changed.numbers()[i] += static_cast<std::int32_t>(random() % 41) - 20;
  const Networks<std::int32_t> round = rounded(base, changed, shifts);
  for (std::size_t i = 0; i < kNumbers; ++i)
    ASSERT_LE(std::abs(round.numbers()[i] - changed.numbers()[i]), 4) << i;
  RangeEncoder out;
  encode_networks(out, base, round, shifts);
  const std::string bytes = out.finish();
  EXPECT_LT(bytes.size(), 220u);
  RangeDecoder in(bytes);
  const Networks<std::int32_t> back = decode_networks(in, base);
  for (std::size_t i = 0; i < kNumbers; ++i) ASSERT_EQ(back.numbers()[i], round.numbers()[i]) << i;
}

TEST(PackedNetworks, AnyBytesAreSomeNetworks) {
  std::mt19937 random(3);
  const Networks<std::int32_t> base = to_integers(some_networks(1));
  for (int round = 0; round < 20; ++round) {
    std::string bytes(500, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    RangeDecoder in(bytes);
    decode_networks(in, base);
  }
}

}  // namespace
}  // namespace veldt::codec
