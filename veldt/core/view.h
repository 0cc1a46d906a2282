// A tensor as a backend sees it: a pointer, sizes and strides. Owns nothing.
// Tests: tests/cpu/elementwise_test.cpp, tests/tensor/plan_test.cpp
#pragma once

#include "veldt/core/dtype.h"
#include "veldt/core/shape.h"

namespace veldt {

struct View {
  void* data = nullptr;  // the first element, with the offset already added
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;  // in elements; 0 repeats one element along a dimension

  template <class T> T* as() const { return static_cast<T*>(data); }
};

// The range of bytes that a view may touch; empty for one without elements.
struct Extent {
  std::uintptr_t begin = 0, end = 0;

  std::size_t bytes() const { return end - begin; }
  bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
};
inline Extent extent_of(const View& v) {
  const auto at = reinterpret_cast<std::uintptr_t>(v.data);
  if (v.data == nullptr || numel(v.shape) == 0) return {at, at};
  std::int64_t low = 0, high = 0;
  for (int d = 0; d < v.shape.rank(); ++d) (v.strides[d] < 0 ? low : high) += v.strides[d] * (v.shape[d] - 1);
  const auto size = static_cast<std::int64_t>(size_of(v.dtype));
  return {at + static_cast<std::uintptr_t>(low * size), at + static_cast<std::uintptr_t>((high + 1) * size)};
}

// Elements first .. first + count of a list.
inline View part_of(const View& list, std::int64_t first, std::int64_t count) {
  char* const data = static_cast<char*>(list.data) +
                     first * list.strides[0] * static_cast<std::int64_t>(size_of(list.dtype));
  return {data, list.dtype, {count}, list.strides};
}

}  // namespace veldt
