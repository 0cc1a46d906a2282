// Losses: one number, the mean over all elements. Prediction and target have the same shape and dtype;
// nothing is broadcast, since [n] against [n, 1] would quietly compare every pair. Throws ShapeError naming
// both shapes.
#pragma once

#include "veldt/tensor/tensor.h"

namespace veldt {

// mean((p - t)^2)
Tensor mse(const Tensor& prediction, const Tensor& target);
// mean(|p - t|); slope 0 where they are equal
Tensor l1(const Tensor& prediction, const Tensor& target);
// mean(softplus(x) - x t): the cross entropy of sigmoid(x) against t in [0, 1], finite for every finite x.
Tensor bce_with_logits(const Tensor& logits, const Tensor& targets);
// mean(max(0, 1 - t p)^2), t = -1 or 1: the squared error, but none once the output is past its target (the
// squared hinge of Tang 2013). For pictures of two levels, drawn by clamping.
Tensor hinge_mse(const Tensor& prediction, const Tensor& target);

}  // namespace veldt
