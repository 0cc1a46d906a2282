// Shared setup of the graph's tests.
#pragma once

#include <initializer_list>

#include "veldt/tensor/tensor.h"

namespace veldt::test {

// A parameter of these values, f64.
inline Tensor leaf(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::of(shape, values, DType::f64).set_requires_grad();
}

}  // namespace veldt::test
