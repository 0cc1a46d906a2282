// How reductions deal work out to threads. A line is what one output depends on. A block takes some lines, or
// a piece of them, and gives each an equal number of its threads, the line's lanes. All of it follows from
// sizes, strides and alignment, so that the order of additions does too.
// Tests: tests/cuda/lines_test.cpp
#pragma once

#include <cstdint>

#include "veldt/cuda/axes.h"

namespace veldt::cuda {

inline constexpr int kThreadBits = 8;
static_assert(1u << kThreadBits == kThreads);

struct Lines {
  Axes kept;                // of x and out: one line for each index
  Axes along;               // of x and out: the elements of a line
  bool rows = false;        // neighbouring threads share a line; else they take the next one
  bool packed = false;      // lines begin at multiples of 16 bytes and have no gaps
  int lane_bits = 0;        // log2 of the lanes of a line
  std::int64_t chunk = 0;   // elements of a line that a block takes
  std::int64_t chunks = 1;  // pieces of a line; each has a partial result when there are several

  std::int64_t tiles() const {
    const std::int64_t per_block = std::int64_t{kThreads} >> lane_bits;
    return (kept.count + per_block - 1) / per_block;
  }
  dim3 blocks() const { return blocks_for(tiles() * chunks * kThreads); }
};

// The lines of x along the dimensions whose bits are set in `along`; out has x's rank, and its shape or 1
// there. Long lines are cut in pieces if there are few of them and `cut` allows.
Lines lines_of(const View& x, const View& out, unsigned along, bool cut);
// The lines of the partial results [chunks, lines] of `l`.
Lines lines_of_partials(const Lines& l);

}  // namespace veldt::cuda
