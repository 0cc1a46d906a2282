// Finds the grid of some blocks of memory, and their boxes in it.
#include "veldt/onnx/trace_layout.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace veldt::onnx {

std::int64_t StridedBlock::reach() const {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
  return last;
}

Sizes counts_of(const Box& box) {
  Sizes counts;
  for (const BoxRange& r : box) counts.push_back(r.count);
  return counts;
}

bool intersect(const Box& a, const Box& b) {
  for (std::size_t d = 0; d < a.size(); ++d)
    if (a[d].begin >= b[d].end() || b[d].begin >= a[d].end()) return false;
  return true;
}

bool contains(const Box& outer, const Box& inner) {
  for (std::size_t d = 0; d < outer.size(); ++d)
    if (inner[d].begin < outer[d].begin || inner[d].end() > outer[d].end()) return false;
  return true;
}

bool Frame::holds(std::int64_t stride) const {
  return std::find(strides_.begin(), strides_.end(), stride) != strides_.end();
}

std::optional<Frame> Frame::with_strides(Sizes strides) {
  strides.push_back(1);
  std::sort(strides.begin(), strides.end(), std::greater<>());
  strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
  for (std::size_t d = 1; d < strides.size(); ++d)
    if (strides[d - 1] % strides[d] != 0) return std::nullopt;
  Frame frame;
  frame.strides_ = std::move(strides);
  return frame;
}

std::optional<Frame> Frame::of(const std::vector<StridedBlock>& pieces, const StridedBlock& wanted) {
  Sizes strides;
  for (const StridedBlock& piece : pieces)
    strides.insert(strides.end(), piece.strides.begin(), piece.strides.end());
  std::optional<Frame> frame = with_strides(strides);
  if (!frame) return frame;
  // A dimension that takes every k-th of a line is a slice with steps; one that has others within it splits
  // the line.
  for (const std::int64_t s : wanted.strides) {
    if (frame->holds(s)) continue;
    const auto below =
        std::find_if(frame->strides_.begin(), frame->strides_.end(), [s](std::int64_t f) { return f < s; });
    bool splits = false;
    for (std::size_t d = 0; d < wanted.strides.size(); ++d)
      splits = splits || (wanted.strides[d] < s && wanted.strides[d] * wanted.sizes[d] > *below);
    if (splits || below == frame->strides_.begin()) strides.push_back(s);
  }
  return with_strides(strides);
}

std::optional<Box> Frame::box_of(const StridedBlock& block) const {
  Box box(rank());
  std::vector<bool> used(rank());
  const auto size_of = [&](std::size_t d) {
    return d == 0 ? std::numeric_limits<std::int64_t>::max() : strides_[d - 1] / strides_[d];
  };
  for (std::size_t d = 0; d < rank(); ++d) box[d].begin = block.offset / strides_[d] % size_of(d);
  for (std::size_t i = block.sizes.size(); i-- > 0;) {
    const std::int64_t stride = block.strides[i];
    std::size_t d = 0;  // the first dimension whose stride is not larger
    while (d + 1 < rank() && strides_[d] > stride) ++d;
    if (stride % strides_[d] != 0 || used[d]) return std::nullopt;
    if (const std::int64_t step = stride / strides_[d]; step > 1) {
      box[d].count = block.sizes[i];
      box[d].step = step;
      used[d] = true;
      if (d > 0 && box[d].end() > size_of(d)) return std::nullopt;
      continue;
    }
    // Beyond the end of a dimension it goes on in the one before, if it has all of this one.
    for (std::int64_t left = block.sizes[i]; left > 1; --d) {
      if (used[d]) return std::nullopt;
      used[d] = true;
      const bool ends = d == 0 || left <= size_of(d) - box[d].begin;
      if (!ends && (box[d].begin != 0 || left % size_of(d) != 0)) return std::nullopt;
      box[d].count = ends ? left : size_of(d);
      left = ends ? 1 : left / size_of(d);
      if (d == 0) break;
    }
  }
  return box;
}

}  // namespace veldt::onnx
