// Philox against the known answers of the Random123 distribution (kat_vectors), and the streams built on it.
#include "veldt/core/rng.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace veldt {
namespace {

TEST(Philox, AgreesWithTheKnownAnswersOfRandom123) {
  EXPECT_EQ(Philox::block({0, 0, 0, 0}, 0, 0),
            (Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox::block({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u),
            (Philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox::block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Philox::Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, DrawsTheLanesOfConsecutiveBlocks) {
  Rng rng(0, 0);
  for (std::uint32_t wanted : {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u})
    EXPECT_EQ(rng.next_u32(), wanted);
  const Philox::Block second = Philox::block({1, 0, 0, 0}, 0, 0);
  for (std::uint32_t wanted : second) EXPECT_EQ(rng.next_u32(), wanted);
  EXPECT_EQ(rng.position(), 8u);
}

TEST(Rng, TakesItsKeyFromTheSeedAndItsCounterFromTheStream) {
  const Rng rng(0x299f31d0a4093822ULL, 0x0370734413198a2eULL);
  const std::uint64_t block = 0x05a308d3243f6a88ULL;
  const Philox::Block wanted =
      Philox::block({0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0);
  for (std::uint64_t lane = 0; lane < 4; ++lane) EXPECT_EQ(rng.at(block * 4 + lane), wanted[lane]);
}

TEST(Rng, ContinuesFromAnyPosition) {
  Rng rng(7, 3);
  std::vector<std::uint32_t> all;
  for (int i = 0; i < 20; ++i) all.push_back(rng.next_u32());
  for (std::uint64_t start : {0u, 5u, 13u}) {
    Rng other(7, 3);
    other.seek(start);
    for (std::uint64_t i = start; i < 20; ++i) EXPECT_EQ(other.next_u32(), all[i]);
  }
}

TEST(Rng, SeedsAndStreamsAreApart) {
  std::set<std::uint32_t> seen;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::uint64_t stream = 0; stream < 10; ++stream) seen.insert(Rng(seed, stream).at(0));
  EXPECT_EQ(seen.size(), 100u);
}

TEST(Rng, ToUnitStaysBelowOne) {
  EXPECT_EQ(Rng::to_unit(0), 0.0f);
  EXPECT_EQ(Rng::to_unit(0x80000000u), 0.5f);
  EXPECT_EQ(Rng::to_unit(~0u), 1.0f - 0x1p-24f);
}

TEST(Rng, NextBelowStaysBelowAndReachesEverything) {
  Rng rng(11);
  std::vector<int> counts(7);
  for (int i = 0; i < 7000; ++i) {
    const std::uint64_t k = rng.next_below(7);
    ASSERT_LT(k, 7u);
    ++counts[k];
  }
  for (int count : counts) EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(rng.next_below(1), 0u);
  EXPECT_LT(rng.next_below(~0ULL), ~0ULL);
}

}  // namespace
}  // namespace veldt
