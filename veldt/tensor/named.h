// Tensors with names: a module's parameters, an optimizer's state, the content of a file.
// Tests: tests/tensor/tensor_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// In a meaningful order: of listing, or of the bytes in a file.
using NamedTensors = std::vector<NamedTensor>;

}  // namespace veldt
