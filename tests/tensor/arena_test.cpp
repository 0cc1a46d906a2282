// Blocks that are never needed together share memory.
#include "veldt/tensor/arena.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "veldt/core/rng.h"

namespace veldt {
namespace {

TEST(Arena, BlocksThatFollowEachOtherShareAPlace) {
  std::vector<ArenaBlock> blocks = {{128, 0, 1, 0}, {128, 2, 3, 0}, {128, 4, 5, 0}};
  EXPECT_EQ(place_in_arena(blocks), 128u);
}

TEST(Arena, BlocksThatMeetInOneCallDoNot) {
  std::vector<ArenaBlock> blocks = {{128, 0, 2, 0}, {64, 2, 3, 0}};
  EXPECT_EQ(place_in_arena(blocks), 192u);
  EXPECT_NE(blocks[0].offset, blocks[1].offset);
}

TEST(Arena, OfNothingIsEmpty) {
  std::vector<ArenaBlock> none;
  EXPECT_EQ(place_in_arena(none), 0u);
}

TEST(Arena, NeverPlacesTwoLivingBlocksOnTopOfEachOther) {
  Rng rng(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<ArenaBlock> blocks;
    for (int i = 0; i < 60; ++i) {
      const int first = static_cast<int>(rng.next_below(50));
      blocks.push_back(
          {64 * (1 + rng.next_below(20)), first, first + static_cast<int>(rng.next_below(10)), 0});
    }
    const std::size_t end = place_in_arena(blocks);
    std::size_t most = 0;  // alive in one call: no plan can do with less
    for (int call = 0; call < 60; ++call) {
      std::size_t alive = 0;
      for (const ArenaBlock& b : blocks) alive += b.first <= call && call <= b.last ? b.size : 0;
      most = std::max(most, alive);
    }
    EXPECT_GE(end, most);
    EXPECT_LE(end, most + most / 2);
    for (const ArenaBlock& a : blocks) {
      EXPECT_LE(a.offset + a.size, end);
      for (const ArenaBlock& b : blocks)
        if (&a != &b && a.first <= b.last && b.first <= a.last) {
          EXPECT_TRUE(a.offset + a.size <= b.offset || b.offset + b.size <= a.offset);
        }
    }
  }
}

}  // namespace
}  // namespace veldt
