// What a backend sees of a tensor: a pointer and how to walk it. Owns nothing.
#pragma once

#include "veldt/core/dtype.h"
#include "veldt/core/shape.h"

namespace veldt {

struct View {
  void* data = nullptr;  // the first element, the offset already added
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;  // in elements; 0 repeats one element along a dimension

  template <class T> T* as() const { return static_cast<T*>(data); }
};

// Elements first .. first + count of a list.
inline View part_of(const View& list, std::int64_t first, std::int64_t count) {
  char* const data = static_cast<char*>(list.data) +
                     first * list.strides[0] * static_cast<std::int64_t>(size_of(list.dtype));
  return {data, list.dtype, {count}, list.strides};
}

}  // namespace veldt
