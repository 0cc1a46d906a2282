// The operators of comparison, logic and remainder, and those that change a tensor in place. + - * / are in
// ops/binary.h, [] and () in tensor/tensor.h.
// Tests: tests/support/op_rows_binary.cpp, tests/ops/operators_test.cpp
#pragma once

#include "veldt/ops/binary.h"

namespace veldt {

// Element by element, as a boolean tensor; array_equal(a, b) of ops/close.h gives one answer.
inline Tensor operator==(const Tensor& a, const Tensor& b) { return equal(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return not_equal(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return less(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return less_equal(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return greater(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return greater_equal(a, b); }
inline Tensor operator==(const Tensor& a, Scalar b) { return equal(a, b); }
inline Tensor operator!=(const Tensor& a, Scalar b) { return not_equal(a, b); }
inline Tensor operator<(const Tensor& a, Scalar b) { return less(a, b); }
inline Tensor operator<=(const Tensor& a, Scalar b) { return less_equal(a, b); }
inline Tensor operator>(const Tensor& a, Scalar b) { return greater(a, b); }
inline Tensor operator>=(const Tensor& a, Scalar b) { return greater_equal(a, b); }
inline Tensor operator==(Scalar a, const Tensor& b) { return equal(b, a); }
inline Tensor operator!=(Scalar a, const Tensor& b) { return not_equal(b, a); }
inline Tensor operator<(Scalar a, const Tensor& b) { return greater(b, a); }
inline Tensor operator<=(Scalar a, const Tensor& b) { return greater_equal(b, a); }
inline Tensor operator>(Scalar a, const Tensor& b) { return less(b, a); }
inline Tensor operator>=(Scalar a, const Tensor& b) { return less_equal(b, a); }

// Whether each element is 0 or false.
inline Tensor operator!(const Tensor& x) { return logical_not(x); }
// And, or, either .. or of booleans: (x > 0) & (x < 1). Throws ShapeError for other dtypes, of which PyTorch
// would take the bits.
Tensor operator&(const Tensor& a, const Tensor& b);
Tensor operator|(const Tensor& a, const Tensor& b);
Tensor operator^(const Tensor& a, const Tensor& b);

// remainder(): it has the sign of b, as Python's %.
inline Tensor operator%(const Tensor& a, const Tensor& b) { return remainder(a, b); }
inline Tensor operator%(const Tensor& a, Scalar b) { return remainder(a, b); }

// In place: a's memory holds the result, which all tensors that share it see, and a backward() that would
// read the old values throws Error. b broadcasts to a, and the result is converted to a's dtype. Throws
// ShapeError if the result has another shape than a, or is of floats where a is not. If a gradient is
// recorded, because a or b requires one, nobody else may share a's memory, and the result has memory of its
// own: a is then a + b. Throws Error for a leaf that requires a gradient, unless within a NoGrad, and for
// memory that is shared.
Tensor& operator+=(Tensor& a, const Tensor& b);
Tensor& operator-=(Tensor& a, const Tensor& b);
Tensor& operator*=(Tensor& a, const Tensor& b);
Tensor& operator/=(Tensor& a, const Tensor& b);
Tensor& operator+=(Tensor& a, Scalar b);
Tensor& operator-=(Tensor& a, Scalar b);
Tensor& operator*=(Tensor& a, Scalar b);
Tensor& operator/=(Tensor& a, Scalar b);
// The same for a part: x[0] += 1.
void operator+=(Tensor&& part, const Tensor& b);
void operator-=(Tensor&& part, const Tensor& b);
void operator*=(Tensor&& part, const Tensor& b);
void operator/=(Tensor&& part, const Tensor& b);
void operator+=(Tensor&& part, Scalar b);
void operator-=(Tensor&& part, Scalar b);
void operator*=(Tensor&& part, Scalar b);
void operator/=(Tensor&& part, Scalar b);

}  // namespace veldt
