// Whether two tensors hold the same numbers, or nearly.
// Tests: tests/support/op_rows_binary.cpp, tests/ops/close_test.cpp
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt {

// Element by element, as booleans: |a - b| <= atol + rtol |b|, computed in f64; a and b broadcast. Infinities
// are close to themselves alone, and a NaN to another one if `equal_nan`. Throws ConfigError for a tolerance
// below 0, and ShapeError naming both shapes if they do not fit.
Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);
// Whether that holds for all elements. Waits for the answer, so a Plan refuses it.
bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
              bool equal_nan = false);
// Whether a and b have the same shape and the same numbers, of any dtypes (PyTorch's equal; equal(a, b) here
// compares element by element). A NaN is equal to nothing. A Plan refuses it.
bool array_equal(const Tensor& a, const Tensor& b);

}  // namespace veldt
