// Places for blocks in one stretch of memory, so that those needed at the same time never overlap.
// Tests: tests/tensor/arena_test.cpp
#pragma once

#include <cstddef>
#include <vector>

namespace veldt {

struct ArenaBlock {
  std::size_t size;    // a multiple of the alignment
  int first, last;     // the calls during which it is needed, both included
  std::size_t offset;  // the answer
};

// Sets the offsets; returns the bytes needed in all. The largest first, each at the lowest gap that fits:
// "greedy by size" of Pisarchyk & Lee, "Efficient memory management for deep neural net inference", 2020.
std::size_t place_in_arena(std::vector<ArenaBlock>& blocks);

}  // namespace veldt
