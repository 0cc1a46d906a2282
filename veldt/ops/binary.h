// Elementwise functions of two tensors, broadcast by NumPy's rule: sizes are matched from the right, and a
// size of 1 repeats. Different dtypes are converted to promote() of both (docs/dtypes.md); a plain number
// adopts the tensor's dtype as described in ops/scalar.h. Throws ShapeError naming both shapes if they do not
// fit.
// Tests: tests/support/op_rows_binary.cpp, tests/ops/dtype_test.cpp, tests/ops/edges_test.cpp,
// tests/ops/error_test.cpp
#pragma once

#include "veldt/ops/scalar.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

// For booleans, add is "or" and mul is "and"; the others need numbers. Integers wrap on overflow.
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
// Integers and booleans give the f32 quotient.
Tensor div(const Tensor& a, const Tensor& b);
// Integers give an integer, truncated.
Tensor pow(const Tensor& a, const Tensor& b);
// The larger / smaller of each pair; a NaN takes precedence, and equal ones share the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
// floor(a / b), with a gradient of 0, and a - b floor(a / b), which has the sign of b: Python's // and %.
// Integers over 0 give 0.
Tensor floor_divide(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, const Tensor& b);
// a - b trunc(a / b), with the sign of a: C's fmod.
Tensor fmod(const Tensor& a, const Tensor& b);
// The angle of the point (b, a), -pi to pi; its gradient at (0, 0) is 0.
Tensor atan2(const Tensor& a, const Tensor& b);
// sqrt(a^2 + b^2) without overflow
inline Tensor hypot(const Tensor& a, const Tensor& b) { return binary<"hypot">(a, b); }
// log(e^a + e^b) without overflow
inline Tensor logaddexp(const Tensor& a, const Tensor& b) { return binary<"logaddexp">(a, b); }
// a + weight (b - a)
Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight);

Tensor add(const Tensor& a, Scalar b);
Tensor sub(const Tensor& a, Scalar b);
Tensor sub(Scalar a, const Tensor& b);
Tensor mul(const Tensor& a, Scalar b);
Tensor div(const Tensor& a, Scalar b);
Tensor div(Scalar a, const Tensor& b);
// Throws ConfigError for integers to a negative integer power.
Tensor pow(const Tensor& a, Scalar b);
Tensor maximum(const Tensor& a, Scalar b);
Tensor minimum(const Tensor& a, Scalar b);
Tensor floor_divide(const Tensor& a, Scalar b);
Tensor remainder(const Tensor& a, Scalar b);
Tensor fmod(const Tensor& a, Scalar b);
Tensor lerp(const Tensor& a, const Tensor& b, double weight);

// Booleans. With a NaN only not_equal is true. Integers are compared exactly with any number, even outside
// their dtype's range or with a fraction.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor equal(const Tensor& a, Scalar b);
Tensor not_equal(const Tensor& a, Scalar b);
Tensor less(const Tensor& a, Scalar b);
Tensor less_equal(const Tensor& a, Scalar b);
Tensor greater(const Tensor& a, Scalar b);
Tensor greater_equal(const Tensor& a, Scalar b);

// Booleans of any dtypes: a number counts as true unless it is 0.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
// All false (isfinite: true) for dtypes that cannot hold them.
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);
Tensor isfinite(const Tensor& x);

// a where `condition` (boolean) is true, b elsewhere; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, Scalar b) { return add(a, b); }
inline Tensor operator+(Scalar a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, Scalar b) { return sub(a, b); }
inline Tensor operator-(Scalar a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, Scalar b) { return mul(a, b); }
inline Tensor operator*(Scalar a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Tensor& a, Scalar b) { return div(a, b); }
inline Tensor operator/(Scalar a, const Tensor& b) { return div(a, b); }

}  // namespace veldt
