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

}  // namespace veldt
