// The ways in which the same numbers can lie in memory. Every op must give the same results for all of them.
#pragma once

#include <vector>

#include "tests/support/values.h"

namespace veldt::test {

enum class Layout {
  contiguous,
  transposed,      // column-major
  stepped,         // every second element of the last dimension
  offset,          // contiguous, three elements into its storage
  padded,          // rows with a gap after each
  repeated_first,  // stride 0 along the first dimension: all its slices hold the same numbers
  repeated_last,   // stride 0 along the last dimension
};

const std::vector<Layout>& all_layouts();
// Those in which each element has its own place in memory.
const std::vector<Layout>& own_memory_layouts();
const char* name_of(Layout layout);

// A tensor of that layout that holds `values` (for the repeated ones: their first slice, repeated). Memory
// between the elements is NaN, so that reading it shows.
Tensor lay_out(const Values& values, DType dtype, Layout layout);

}  // namespace veldt::test
