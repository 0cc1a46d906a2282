// Matrix products of tensors of one dtype, else ShapeError. bf16 and f16 are computed as f32 and rounded
// once, integers give f32.
// Tests: tests/support/op_rows_matmul.cpp, tests/ops/matmul_test.cpp, tests/ops/error_test.cpp
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt {

// [.., m, k] x [.., k, n] -> [.., m, n]; leading dimensions broadcast. A list is a row on the left and a
// column on the right, and its dimension is dropped from the result. Transposed views are read in place.
// Throws ShapeError if the inner sizes differ.
Tensor matmul(const Tensor& a, const Tensor& b);
// [n] x [n] -> []
Tensor dot(const Tensor& a, const Tensor& b);
// [m] x [n] -> [m, n], every product of two elements
Tensor outer(const Tensor& a, const Tensor& b);

// x w^T + bias:  x [.., in], w [out, in] (torch.nn.Linear's layout), bias [out] or undefined -> [.., out]
Tensor linear(const Tensor& x, const Tensor& w, const Tensor& bias = {});

}  // namespace veldt
