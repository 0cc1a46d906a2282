// A tensor as text, the way PyTorch prints it. `std::cout << x` and str("got ", x) do so with the defaults.
// Tests: tests/tensor/print_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/tensor/tensor.h"

namespace veldt {

struct PrintOptions {
  int precision = 4;              // digits after the point
  std::int64_t threshold = 1000;  // of more elements than these only the edges are shown
  int edge = 3;                   // how many at each end of each dimension then
  int width = 80;                 // columns of a line
};

// "tensor([[1.0000, 2.5000],\n        [3.0000, 4.0000]])", for any dtype, shape and device. No more elements
// are read than are shown.
// - All elements have one width. Whole numbers in a float dtype end in a point: "2.".
// - Floats are "1.0000e+05" throughout if one is above 1e8 or below 1e-4, or if the largest is more than 1000
//   times the smallest; zeros, infinities and NaN do not count.
// - What follows the elements: device='cuda:0' unless it is the cpu; shape=[0, 3] if there are no elements;
//   dtype=bf16 unless it is f32, i64 or bool (unless it is f32, if there are none); requires_grad=True or
//   grad_fn=<matmul>.
// - An undefined tensor is "tensor(undefined)".
// Throws ConfigError for a precision outside 0 to 40 and for an edge below 1, and Error within a Plan.
std::string text(const Tensor& x, const PrintOptions& options = {});

}  // namespace veldt
