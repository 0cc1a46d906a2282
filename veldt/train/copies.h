// Copies of tensors.
// Tests: tests/train/trainer_test.cpp
#pragma once

#include "veldt/tensor/named.h"

namespace veldt::train {

inline Tensor copy_of(const Tensor& t) {
  Tensor copy = empty(t.shape(), t.dtype(), t.device());
  copy.assign(t);
  return copy;
}

inline NamedTensors copies_of(const NamedTensors& all) {
  NamedTensors copies;
  for (const auto& [name, tensor] : all) copies.push_back({name, copy_of(tensor)});
  return copies;
}

}  // namespace veldt::train
