// The trie by which tokens are found at the beginning of a text.
#include "veldt/data/prefix_tree.h"

#include <gtest/gtest.h>

namespace veldt::data {
namespace {

std::int64_t number_of(const PrefixTree& tree, std::string_view text) {
  PrefixTree::Node node = PrefixTree::kRoot;
  for (const char c : text) {
    node = tree.next(node, c);
    if (node == PrefixTree::kNowhere) return -2;
  }
  return tree.number(node);
}

TEST(PrefixTree, FindsWhatItHolds) {
  const PrefixTree tree({{"the", 1}, {"then", 2}, {"a", 3}, {"", 4}, {"a", 5}, {"\xff", 6}});
  EXPECT_EQ(number_of(tree, "the"), 1);
  EXPECT_EQ(number_of(tree, "then"), 2);
  EXPECT_EQ(number_of(tree, "th"), -1);
  EXPECT_EQ(number_of(tree, "thus"), -2);
  EXPECT_EQ(number_of(tree, "a"), 5);
  EXPECT_EQ(number_of(tree, "\xff"), 6);
  EXPECT_EQ(number_of(tree, ""), -1);
  EXPECT_EQ(number_of(PrefixTree({}), "a"), -2);
}

}  // namespace
}  // namespace veldt::data
