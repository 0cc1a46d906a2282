// Finds NaN and infinities in data before they reach a network.
// Tests: tests/data/finite_test.cpp
#pragma once

#include <string>

#include "veldt/tensor/tensor.h"

namespace veldt::data {

// "nan at [0, 3, 4] of f32 [1, 28, 28]" for the first element, row by row, that is not a finite number;
// empty if there is none.
std::string first_not_finite(const Tensor& t);

}  // namespace veldt::data
