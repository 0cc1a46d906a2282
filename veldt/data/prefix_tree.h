// A set of strings with a number each, by which a text's beginnings are looked up: a trie.
// Tests: tests/data/prefix_tree_test.cpp
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace veldt::data {

class PrefixTree {
 public:
  // Of strings in any order, empty ones left out. Of equal ones the last counts.
  explicit PrefixTree(std::vector<std::pair<std::string_view, std::int64_t>> entries);

  // A place in the tree: the strings that begin with what was read so far.
  using Node = std::size_t;
  static constexpr Node kRoot = 0, kNowhere = static_cast<Node>(-1);
  Node next(Node from, char byte) const;
  // The number of the string that ends there, or -1.
  std::int64_t number(Node at) const { return nodes_[at].number; }

 private:
  struct Entry {
    std::uint32_t first_child, children;
    std::int64_t number;
    unsigned char byte;
  };
  std::vector<Entry> nodes_;  // children side by side, by their bytes
};

}  // namespace veldt::data
