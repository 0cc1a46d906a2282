// Integers in the place of floats: q = round(x / scale) + zero_point within low .. high, and what it stands
// for, (q - zero_point) scale. Rounded half to even, as ONNX's QuantizeLinear and torch.fake_quantize do.
// Tests: tests/support/op_rows_quantize.cpp, tests/ops/quantize_test.cpp
#pragma once

#include <cstdint>

#include "veldt/tensor/tensor.h"

namespace veldt {

struct QuantizeOptions {
  std::int64_t low = -128, high = 127;
  int axis = 0;  // of x, if scale and zero point are lists
};

// scale: above 0, a float; one number, or [size] with one for each position of `axis`, or of x's rank: then
// it broadcasts to x. zero_point: whole numbers of such a shape, or undefined for 0. All throw ShapeError for
// shapes that do not fit, and ConfigError for a range without a number.

// u8 if low .. high fit into it, else i8, else i32. Without a gradient. NaN becomes 0.
Tensor quantize(const Tensor& x, const Tensor& scale, const Tensor& zero_point = {},
                const QuantizeOptions& options = {});
// Of scale's dtype, without a gradient.
Tensor dequantize(const Tensor& q, const Tensor& scale, const Tensor& zero_point = {}, int axis = 0);
// dequantize(quantize(x)), but of floats of x's dtype, and with a gradient of x: as if x had been given back,
// and 0 where it lies outside the range (the straight-through estimator, Bengio et al. 2013).
Tensor fake_quantize(const Tensor& x, const Tensor& scale, const Tensor& zero_point = {},
                     const QuantizeOptions& options = {});

// Whole numbers of -8 .. 7, [.., n], n a multiple of 32, as u8 [.., n / 2], each 8 more: byte j of the 16 of
// a group of 32 has number j in its lower half and number 16 + j in its upper half. Throws ShapeError.
Tensor pack_nibbles(const Tensor& q);
// The reverse: i8.
Tensor unpack_nibbles(const Tensor& packed);

}  // namespace veldt
