// Order along one dimension. Stable: equal elements keep their order. A NaN counts as the largest.
// Tests: tests/support/op_rows_lines.cpp, tests/ops/order_test.cpp
#pragma once

#include <concepts>

#include "veldt/tensor/tensor.h"

namespace veldt {

struct Sorted {
  Tensor values;   // its gradient goes to each value's source
  Tensor indices;  // i64
};

Sorted sort(const Tensor& x, int dim = -1, bool descending = false);
Tensor argsort(const Tensor& x, int dim = -1, bool descending = false);
// The first k of the sorted line: the largest, or the smallest. Throws ShapeError for a k beyond its size.
Sorted topk(const Tensor& x, std::int64_t k, int dim = -1, bool largest = true);

namespace detail {

struct Extremes {
  static Sorted largest(const Tensor& x, std::int64_t dim, bool keepdim);
  static Sorted smallest(const Tensor& x, std::int64_t dim, bool keepdim);
};

}  // namespace detail

// The largest, or smallest, of each line along one dimension, and the first place where it is: max(x, 1). A
// NaN takes precedence. Unlike max(x, {1}) of ops/reduce.h, which shares its gradient between equal elements,
// this one gives it to that place. Throws ShapeError for lines of zero elements.
template <std::integral Dim> Sorted max(const Tensor& x, Dim dim, bool keepdim = false) {
  return detail::Extremes::largest(x, dim, keepdim);
}
template <std::integral Dim> Sorted min(const Tensor& x, Dim dim, bool keepdim = false) {
  return detail::Extremes::smallest(x, dim, keepdim);
}

// The middle of each line when it is sorted, the lower one of two; a NaN takes precedence. Without a
// dimension it is that of all elements. Throws ShapeError for lines of zero elements.
Sorted median(const Tensor& x, int dim, bool keepdim = false);
Tensor median(const Tensor& x);

}  // namespace veldt
