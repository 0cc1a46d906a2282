// Places blocks by size, the largest first, each where no block of the same time is.
#include "veldt/tensor/arena.h"

#include <algorithm>
#include <numeric>

namespace veldt {

std::size_t place_in_arena(std::vector<ArenaBlock>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].size > blocks[b].size; });
  std::vector<std::size_t> placed;  // by offset
  std::size_t end = 0;
  for (const std::size_t i : order) {
    ArenaBlock& block = blocks[i];
    std::size_t gap = 0;
    for (const std::size_t j : placed) {
      const ArenaBlock& other = blocks[j];
      if (other.last < block.first || block.last < other.first) continue;
      if (other.offset >= gap + block.size) break;
      gap = std::max(gap, other.offset + other.size);
    }
    block.offset = gap;
    end = std::max(end, gap + block.size);
    const auto lower = [&](std::size_t offset, std::size_t j) { return offset < blocks[j].offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), gap, lower), i);
  }
  return end;
}

}  // namespace veldt
