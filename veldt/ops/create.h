// New tensors: constants and ramps; random ones are in ops/random.h.
// Tests: tests/support/op_rows_create.cpp, tests/ops/error_test.cpp
#pragma once

#include <optional>

#include "veldt/ops/random.h"
#include "veldt/ops/scalar.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = {});
Tensor ones(const Shape& shape, DType dtype = DType::f32, Device device = {});
Tensor full(const Shape& shape, Scalar value, DType dtype = DType::f32, Device device = {});
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor full_like(const Tensor& x, Scalar value);
// 0, 1, .. n-1, shape [n].
Tensor arange(std::int64_t n, DType dtype = DType::i64, Device device = {});
// begin, begin + step, .. below end (above it for a negative step): i64 if all three are integers, else f32.
// Throws ConfigError if no number of steps leads from begin to end.
Tensor arange(Scalar begin, Scalar end, Scalar step = 1, std::optional<DType> dtype = {}, Device device = {});
// `n` values from `first` to `last`, both included, shape [n]; n = 1 gives `first`.
Tensor linspace(double first, double last, std::int64_t n, DType dtype = DType::f32, Device device = {});
// Ones on the main diagonal; square without `columns`.
Tensor eye(std::int64_t rows, std::int64_t columns = -1, DType dtype = DType::f32, Device device = {});

}  // namespace veldt
