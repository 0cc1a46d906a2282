// Reductions over any dimensions. No dims means all of them; a number, which has none, is reduced over 0 or
// -1 as a list of one. keepdim leaves a size of 1 where a dimension was. Integers and booleans are summed and
// multiplied in i64; their mean, variance and norm are f32. The order of summation is fixed, so the result
// does not depend on the number of threads.
// Tests: tests/support/op_rows_reduce.cpp, tests/ops/edges_test.cpp
#pragma once

#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt {

using Dims = std::vector<int>;  // negative ones count from the end

Tensor sum(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
Tensor mean(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
// Throws ShapeError over zero elements. Where several elements tie, they share the gradient equally.
Tensor max(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
Tensor min(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
// Mean squared distance from the mean; `correction` is subtracted from the count (1: Bessel's), but not below
// 0: the variance of one number, or none, is NaN. The gradient of the root is 0 where it is 0.
Tensor variance(const Tensor& x, const Dims& dims = {}, bool keepdim = false, int correction = 1);
Tensor stddev(const Tensor& x, const Dims& dims = {}, bool keepdim = false, int correction = 1);  // its root
// The product; 1 over nothing. Its gradient is right at zeros too.
Tensor prod(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
// (sum of |x|^p)^(1/p); p = INFINITY gives the largest |x|, -INFINITY the smallest, 0 the count of nonzero
// elements. Its gradient is 0 where it is 0.
Tensor norm(const Tensor& x, double p = 2, const Dims& dims = {}, bool keepdim = false);
// The first index of the largest / smallest element along `dim`, as i64. No gradient; a NaN takes precedence.
Tensor argmax(const Tensor& x, int dim, bool keepdim = false);
Tensor argmin(const Tensor& x, int dim, bool keepdim = false);
// Booleans: whether one element / every element is not 0.
Tensor any(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
Tensor all(const Tensor& x, const Dims& dims = {}, bool keepdim = false);

// Sums x over the dimensions along which `shape` was broadcast to x's shape: the gradient of broadcasting.
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace veldt
