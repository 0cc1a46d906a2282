// Numbers outside of Veldt: what oracles take and give, and how they get into tensors and out again. Nothing
// here calls a kernel, so that a fault of copy() cannot hide one of an op.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/tensor/tensor.h"

namespace veldt::test {

// Row-major numbers of a shape; whole numbers and booleans are kept as doubles too.
struct Values {
  Shape shape;
  std::vector<double> v;

  std::int64_t size() const { return static_cast<std::int64_t>(v.size()); }
  // The element at `index`; sizes of 1 and missing leading dimensions broadcast.
  double at(const Shape& index) const;
};

// The row-major index of element `i`, and back.
Shape index_of(const Shape& shape, std::int64_t i);
std::int64_t position_of(const Shape& shape, const Shape& index);

// A value for each index of `shape`.
Values build(const Shape& shape, const std::function<double(const Shape& index)>& value);

// What a tensor on the cpu holds, read through its pointer and strides.
Values read(const Tensor& t);
// A contiguous tensor that holds the values, rounded to `dtype`.
Tensor write(const Values& values, DType dtype);
// The same through any strides: writes the values where t keeps its elements.
void write_into(const Tensor& t, const Values& values);

Values uniform(const Shape& shape, Rng& rng, double low = -1, double high = 1);

}  // namespace veldt::test
