// Reductions over any dimensions. No dims means all of them. keepdim leaves a size of 1 where a dimension
// was. The order of summation is fixed, so the result does not depend on the number of threads.
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
// Mean squared distance from the mean; `correction` is taken off the count (1: Bessel's).
Tensor variance(const Tensor& x, const Dims& dims = {}, bool keepdim = false, int correction = 1);
// The first index of the largest element along `dim`, as i64. No gradient.
Tensor argmax(const Tensor& x, int dim, bool keepdim = false);

// Sums x over the dimensions along which `shape` was broadcast to x's shape: the gradient of broadcasting.
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace veldt
