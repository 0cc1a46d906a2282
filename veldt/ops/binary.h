// Elementwise functions of two tensors, broadcast by NumPy's rule: sizes are matched from the right, and a
// size of 1 repeats. Both sides have the same dtype; arithmetic is for f32 and f64, comparisons for those,
// i64, u8 and bool. Throws ShapeError naming both shapes when they do not fit.
#pragma once

#include "veldt/ops/unary.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, const Tensor& b);
// The larger / smaller of each pair; a NaN wins, and where they are equal the gradient goes to b.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);

// Booleans. With a NaN only not_equal holds.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);

// a where `condition` (boolean) holds, b elsewhere; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }

inline Tensor operator+(const Tensor& a, double b) { return affine(a, 1, b); }
inline Tensor operator+(double a, const Tensor& b) { return affine(b, 1, a); }
inline Tensor operator-(const Tensor& a, double b) { return affine(a, 1, -b); }
inline Tensor operator-(double a, const Tensor& b) { return affine(b, -1, a); }
// Adding -0.0 changes no number; adding 0.0 would turn -0.0 into 0.0.
inline Tensor operator*(const Tensor& a, double b) { return affine(a, b, -0.0); }
inline Tensor operator*(double a, const Tensor& b) { return affine(b, a, -0.0); }
inline Tensor operator/(const Tensor& a, double b) { return affine(a, 1 / b, -0.0); }
inline Tensor operator/(double a, const Tensor& b) { return affine(pow(b, -1), a, -0.0); }

}  // namespace veldt
