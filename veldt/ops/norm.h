// Normalisation within each example, as in torch.nn.functional; normalisation over a batch, with running
// statistics, is a layer of veldt/nn/norm.h. Variances are biased; halves are computed as f32 and rounded
// once, integers give f32. Weight and bias may be undefined, else they have x's dtype. Differentiable to any
// order. Throws ShapeError naming the shapes that do not fit.
// Tests: tests/support/op_rows_norm.cpp, tests/ops/norm_test.cpp
#pragma once

#include <cstdint>
#include <optional>

#include "veldt/tensor/tensor.h"

namespace veldt {

// (x - mean) / sqrt(variance + eps) weight + bias, with mean and variance over x's last dimensions, which
// must have the sizes of `normalized_shape`, like weight and bias. Ba et al. 2016.
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                  const Tensor& bias = {}, double eps = 1e-5);
// The same for x [n, c, ..] over c / groups channels at a time and all later dimensions; weight and bias [c].
// Wu & He 2018. As many groups as channels make the instance norm of Ulyanov et al. 2016.
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);
// x / sqrt(mean of x^2 + eps) weight, over the last dimensions; eps is by default the distance from 1 to the
// next number of x's dtype. Zhang & Sennrich 2019.
Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});

}  // namespace veldt
