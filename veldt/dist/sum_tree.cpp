// Walks down to the nodes that lie within a share.
#include "veldt/dist/sum_tree.h"

namespace veldt::dist {
namespace {

void add_nodes(Leaves node, Leaves share, std::vector<Leaves>& found) {
  if (node.end <= share.begin || share.end <= node.begin) return;
  if (share.begin <= node.begin && node.end <= share.end) {
    found.push_back(node);
    return;
  }
  add_nodes(node.left(), share, found);
  add_nodes(node.right(), share, found);
}

}  // namespace

Leaves share_of_leaves(std::int64_t leaves, int rank, int size) {
  const std::int64_t least = leaves / size, more = leaves % size;
  const auto begin_of = [&](std::int64_t r) { return r * least + (r < more ? r : more); };
  return {begin_of(rank), begin_of(rank + 1)};
}

Numbers share_of_numbers(std::int64_t count, int rank, int size) {
  constexpr std::int64_t kLine = 16;
  const auto begin_of = [&](std::int64_t r) { return r == size ? count : count * r / size / kLine * kLine; };
  return {begin_of(rank), begin_of(rank + 1)};
}

std::vector<Leaves> nodes_within(std::int64_t leaves, Leaves share) {
  std::vector<Leaves> found;
  if (share.size() > 0) add_nodes({0, leaves}, share, found);
  return found;
}

bool are_halves(std::int64_t leaves, Leaves left, Leaves right) {
  Leaves node{0, leaves};
  while (node.size() > 1) {
    if (node.left() == left) return node.right() == right;
    node = left.end <= node.left().end ? node.left() : node.right();
  }
  return false;
}

}  // namespace veldt::dist
