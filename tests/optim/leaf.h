// Shared setup of the optimizers' tests.
#pragma once

#include <vector>

#include "veldt/ops/create.h"
#include "veldt/tensor/named.h"

namespace veldt::test {

// A parameter that is `value` everywhere.
inline Tensor leaf(const Shape& shape, double value = 1, DType dtype = DType::f32) {
  return full(shape, value, dtype).set_requires_grad();
}

inline std::vector<float> values(const Tensor& t) { return t.values<float>(); }

// In memory of its own.
inline Tensor copy_of(const Tensor& t) {
  const Tensor out = empty(t.shape(), t);
  Tensor(out).assign(t);
  return out;
}

inline NamedTensors copy_of(const NamedTensors& state) {
  NamedTensors out;
  for (const auto& [name, tensor] : state) out.push_back({name, copy_of(tensor)});
  return out;
}

}  // namespace veldt::test
