// Eigenvalues and eigenvectors of symmetric matrices.
// Tests: tests/ops/eigen_test.cpp
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt {

struct EighResult {
  Tensor values;   // [n], f64, rising
  Tensor vectors;  // [n, n], f64: column i, of length 1, belongs to value i; its largest element is positive
};

// x [n, n] = vectors diag(values) transpose(vectors), as torch.linalg.eigh, by cyclic Jacobi rotations (Golub
// & Van Loan, Matrix Computations, 8.5) in f64 on the CPU, whatever device x is on: for the covariances of
// tens or hundreds of features, about 10 n^3 multiplications. There is no gradient. Throws ShapeError unless
// x is a square of floating point numbers, Error if one is not finite, or if x is not symmetric to a
// millionth of its largest element.
EighResult eigh(const Tensor& x);

}  // namespace veldt
