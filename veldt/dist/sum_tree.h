// The order in which numbers of several ranks are added: leaves 0 .. n - 1 of a binary tree whose nodes are
// halved. It depends on the number of leaves alone, not on which rank has which, nor on what arrives first.
// Tests: tests/dist/sum_tree_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "veldt/core/device.h"

namespace veldt::dist {

// Leaves begin .. end - 1.
struct Leaves {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const Leaves&) const = default;
  // Of a node of more than one leaf; the left one has the larger half.
  Leaves left() const { return {begin, begin + (size() + 1) / 2}; }
  Leaves right() const { return {begin + (size() + 1) / 2, end}; }
};

// The leaves of one rank of several, neighbours, as many as the others have or one more.
Leaves share_of_leaves(std::int64_t leaves, int rank, int size);
// Numbers begin .. end - 1 of a list.
struct Numbers {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const { return end - begin; }
};
// Those of a list that one rank of several adds up: about as many as the others, from a line of the cache on.
Numbers share_of_numbers(std::int64_t count, int rank, int size);
// The largest nodes that lie within `share`, from left to right: what a rank can add up by itself.
std::vector<Leaves> nodes_within(std::int64_t leaves, Leaves share);
// Whether the two are what a node of the tree is halved into.
bool are_halves(std::int64_t leaves, Leaves left, Leaves right);

struct SumOptions {
  // Numbers of f32 are sent as bf16, which halves the bytes, and added as f32.
  bool halves = false;
  // A rank gets the sums of its share_of_numbers() alone; what the others are afterwards says nothing.
  bool scattered = false;
  // Where the lists are.
  Device device = {};
};

}  // namespace veldt::dist
