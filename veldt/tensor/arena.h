// Assigns blocks to offsets in one piece of memory, so that those needed at the same time never overlap.
// Tests: tests/tensor/arena_test.cpp
#pragma once

#include <cstddef>
#include <vector>

namespace veldt {

struct ArenaBlock {
  std::size_t size;    // a multiple of the alignment
  int first, last;     // the first and last call that need it
  std::size_t offset;  // the result
};

// Sets the offsets; returns the total number of bytes. The largest first, each at the lowest gap that fits:
// "greedy by size" of Pisarchyk & Lee, "Efficient memory management for deep neural net inference", 2020.
std::size_t place_in_arena(std::vector<ArenaBlock>& blocks);

}  // namespace veldt
