// Tensors with names: a module's parameters, an optimizer's state, the content of a file.
// Tests: tests/tensor/tensor_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// In a meaningful order: of listing, or of the bytes in a file.
using NamedTensors = std::vector<NamedTensor>;

// Whether a name is `prefix`, or begins with it and a dot: "body.0.weight" is below "body" and "body.0". All
// names are below an empty prefix.
inline bool is_below(std::string_view name, std::string_view prefix) {
  return prefix.empty() ||
         (name.starts_with(prefix) && (name.size() == prefix.size() || name[prefix.size()] == '.'));
}

}  // namespace veldt
