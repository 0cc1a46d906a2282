// Shared parts of the losses; only for files of nn/.
// Tests: tests/nn/losses_test.cpp, tests/nn/golden_losses_test.cpp
#pragma once

#include "veldt/nn/losses.h"

namespace veldt::nn {

// Throws ShapeError, naming the loss, unless both have one shape with an element or more.
void check_loss(const char* name, const Tensor& prediction, const Tensor& target);
Tensor reduced(const Tensor& loss, Reduction reduction);
// x as a constant. Unlike detach() it is not reported as an end of the graph, because it is intended.
Tensor constant(const Tensor& x);
// One number, to compute with x.
Tensor number_like(const Tensor& x, double value);

}  // namespace veldt::nn
