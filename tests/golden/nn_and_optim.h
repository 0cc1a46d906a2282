// Reads nn.json and optim.json, which nn.py and optim.py wrote with PyTorch, and compares tensors with them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "veldt/ops/shape.h"
#include "veldt/tensor/tensor.h"

namespace veldt::test {

inline nlohmann::json read_golden(const std::string& name) {
  std::ifstream in(std::string(VELDT_SOURCE "/tests/golden/") + name);
  return nlohmann::json::parse(in);
}

inline Tensor tensor_of(const nlohmann::json& golden, DType dtype = DType::f64) {
  const auto sizes = golden.at("shape").get<std::vector<std::int64_t>>();
  const auto values = golden.at("values").get<std::vector<double>>();
  return to(Tensor::from<double>(Shape(sizes), values), dtype);
}

// |a - b| <= tolerance (1 + |b|) for all elements.
inline testing::AssertionResult near(const Tensor& actual, const nlohmann::json& golden, double tolerance) {
  const Tensor expected = tensor_of(golden);
  if (!actual.defined()) return testing::AssertionFailure() << "the tensor is undefined";
  if (actual.shape() != expected.shape())
    return testing::AssertionFailure() << actual.shape() << " instead of " << expected.shape();
  const std::vector<double> a = to(actual.detach(), DType::f64).values<double>(),
                            b = expected.values<double>();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= tolerance * (1 + std::abs(b[i]))))
      return testing::AssertionFailure() << "element " << i << " is " << a[i] << " instead of " << b[i];
  return testing::AssertionSuccess();
}

// How far the reference in double may be from what is computed in `dtype`, after a few ops.
inline double tolerance_of(DType dtype) { return dtype == DType::f64 ? 1e-12 : 2e-6; }

}  // namespace veldt::test
