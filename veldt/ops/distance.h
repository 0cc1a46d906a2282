// Distances between vectors, as in torch.nn.functional. Both sides broadcast.
// Tests: tests/support/op_rows_distance.cpp, tests/ops/norm_test.cpp, tests/ops/error_test.cpp
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt {

// The cosine of the angle between a and b along `dim`, which is dropped; a length is at least `eps`.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int dim = 1, double eps = 1e-8);
// The norm of a - b + eps over the last dimension, which is dropped.
Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p = 2, double eps = 1e-6);
// x over its norm along `dim`, which is at least `eps`.
Tensor normalize(const Tensor& x, double p = 2, int dim = 1, double eps = 1e-12);

}  // namespace veldt
