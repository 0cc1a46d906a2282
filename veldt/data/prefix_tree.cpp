// A trie in one array, made level by level.
#include "veldt/data/prefix_tree.h"

#include <algorithm>

namespace veldt::data {

PrefixTree::PrefixTree(std::vector<std::pair<std::string_view, std::int64_t>> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  struct Work {
    std::size_t node, begin, end, depth;  // the entries that go through the node
  };
  nodes_.push_back({0, 0, -1, 0});
  std::vector<Work> level{{kRoot, 0, entries.size(), 0}}, below;
  while (!level.empty()) {
    below.clear();
    for (const Work& work : level) {
      std::size_t at = work.begin;
      for (; at < work.end && entries[at].first.size() == work.depth; ++at)
        if (work.depth > 0) nodes_[work.node].number = entries[at].second;
      nodes_[work.node].first_child = static_cast<std::uint32_t>(nodes_.size());
      while (at < work.end) {
        const char byte = entries[at].first[work.depth];
        std::size_t end = at;
        while (end < work.end && entries[end].first[work.depth] == byte) ++end;
        below.push_back({nodes_.size(), at, end, work.depth + 1});
        nodes_.push_back({0, 0, -1, static_cast<unsigned char>(byte)});
        ++nodes_[work.node].children;
        at = end;
      }
    }
    level.swap(below);
  }
}

PrefixTree::Node PrefixTree::next(Node from, char byte) const {
  const auto wanted = static_cast<unsigned char>(byte);
  const auto first = nodes_.begin() + nodes_[from].first_child, last = first + nodes_[from].children;
  const auto at =
      std::lower_bound(first, last, wanted, [](const Entry& e, unsigned char b) { return e.byte < b; });
  return at != last && at->byte == wanted ? static_cast<Node>(at - nodes_.begin()) : kNowhere;
}

}  // namespace veldt::data
