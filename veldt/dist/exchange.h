// Ops whose results or gradients come from all ranks: what tensor parallel layers are built of (Shoeybi et
// al. 2019). Every rank calls them in the same order with tensors of one shape, computes the same loss from
// their results, and calls backward() for it. Gradients may be of any order, and steps recorded (Plan). Each
// keeps a reference to the communicator; alone, all return x.
// Tests: tests/dist/tensor_parallel_test.cpp
#pragma once

#include "veldt/dist/communicator.h"
#include "veldt/tensor/tensor.h"

namespace veldt::dist {

// x, the same on all ranks, of which each computes something else. Its gradient is the sum over the ranks.
Tensor copy_to_ranks(const Tensor& x, Communicator& ranks);
// The sum of all ranks' x. Each x gets its gradient as it is.
Tensor sum_of_ranks(const Tensor& x, Communicator& ranks);
// x [.., n] of each rank side by side, in their order: [.., size n]. Each gets the gradient of its columns.
Tensor gather_columns(const Tensor& x, Communicator& ranks);
// This rank's columns of x [.., size n], the same on all ranks: [.., n]. Throws ShapeError for columns that
// cannot be shared out.
Tensor own_columns(const Tensor& x, Communicator& ranks);

}  // namespace veldt::dist
