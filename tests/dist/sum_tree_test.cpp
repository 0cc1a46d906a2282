// The tree of a sum: shares, nodes within them, halves.
#include "veldt/dist/sum_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace veldt::dist {
namespace {

using ::testing::ElementsAre;

TEST(SumTree, SharesAreNeighboursAndDifferByOneAtMost) {
  for (int size = 1; size <= 9; ++size)
    for (std::int64_t leaves = size; leaves <= 30; ++leaves) {
      std::int64_t end = 0;
      for (int r = 0; r < size; ++r) {
        const Leaves share = share_of_leaves(leaves, r, size);
        EXPECT_EQ(share.begin, end);
        EXPECT_GE(share.size(), leaves / size);
        EXPECT_LE(share.size(), leaves / size + 1);
        end = share.end;
      }
      EXPECT_EQ(end, leaves);
    }
}

TEST(SumTree, NodesOfAShareAreTheLargestWithinIt) {
  EXPECT_THAT(nodes_within(8, {0, 8}), ElementsAre(Leaves{0, 8}));
  EXPECT_THAT(nodes_within(8, {0, 4}), ElementsAre(Leaves{0, 4}));
  EXPECT_THAT(nodes_within(8, {1, 7}), ElementsAre(Leaves{1, 2}, Leaves{2, 4}, Leaves{4, 6}, Leaves{6, 7}));
  // 5 = (2 + 1) + 2
  EXPECT_THAT(nodes_within(5, {0, 3}), ElementsAre(Leaves{0, 3}));
  EXPECT_THAT(nodes_within(5, {1, 5}), ElementsAre(Leaves{1, 2}, Leaves{2, 3}, Leaves{3, 5}));
  EXPECT_TRUE(nodes_within(5, {2, 2}).empty());
}

TEST(SumTree, HalvesAreThoseOfANode) {
  EXPECT_TRUE(are_halves(8, {0, 4}, {4, 8}));
  EXPECT_TRUE(are_halves(8, {6, 7}, {7, 8}));
  EXPECT_FALSE(are_halves(8, {1, 2}, {2, 3}));
  EXPECT_FALSE(are_halves(8, {2, 4}, {4, 6}));
  EXPECT_TRUE(are_halves(3, {0, 2}, {2, 3}));
  EXPECT_FALSE(are_halves(3, {0, 1}, {1, 3}));
}

}  // namespace
}  // namespace veldt::dist
