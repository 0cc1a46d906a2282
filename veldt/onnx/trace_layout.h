// Blocks of strided memory seen as boxes of one common grid, so that parts of a tensor can be cut out
// of it, or put together, by ONNX's Reshape, Slice, Transpose and Concat.
// Tests: tests/onnx/layout_test.cpp
#pragma once

#include <optional>
#include <vector>

#include "veldt/onnx/trace_graph.h"

namespace veldt::onnx {

// Numbers at offset + sum of i_d strides[d], in elements from some address. Sizes above 1, strides above 0
// and falling.
struct StridedBlock {
  std::int64_t offset = 0;
  Sizes sizes, strides;

  std::int64_t reach() const;  // from the first element to the last
  bool is_dense() const { return reach() + 1 == count_of(sizes); }
};

struct BoxRange {
  std::int64_t begin = 0, count = 1, step = 1;

  std::int64_t end() const { return begin + (count - 1) * step + 1; }
};
using Box = std::vector<BoxRange>;  // one for each dimension of the frame

Sizes counts_of(const Box& box);
bool intersect(const Box& a, const Box& b);
bool contains(const Box& outer, const Box& inner);

// The grid: its strides fall, each divides the one before, the last is 1. The first dimension has no end.
class Frame {
 public:
  // One in which all `pieces` are boxes without steps, and `wanted` is a box too, if there is any.
  static std::optional<Frame> of(const std::vector<StridedBlock>& pieces, const StridedBlock& wanted);
  static std::optional<Frame> with_strides(Sizes strides);

  const Sizes& strides() const { return strides_; }
  // Its ranges; nothing if it is no box of this grid.
  std::optional<Box> box_of(const StridedBlock& block) const;

 private:
  std::size_t rank() const { return strides_.size(); }
  bool holds(std::int64_t stride) const;

  Sizes strides_;
};

}  // namespace veldt::onnx
