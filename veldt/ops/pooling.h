// Pooling over 1 to 3 spatial dimensions, as in torch.nn.functional. x is [n, channels, spatial ..] or
// [channels, spatial ..] of a float dtype; bf16 and f16 are computed as f32 and rounded once. Differentiable
// to any order. Throws ShapeError naming the shape and the window, and ConfigError for options that are
// invalid for any shape.
// Tests: tests/support/op_rows_pooling.cpp, tests/ops/pooling_test.cpp
#pragma once

#include <optional>

#include "veldt/ops/convolution.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

struct MaxPoolOptions {
  std::optional<PerDim> stride = {};  // the kernel's size, if there is none
  PerDim padding = 0;  // elements on both sides that are never the largest; at most half a kernel
  PerDim dilation = 1;
  bool ceil_mode = false;  // windows that extend beyond the end count too
};

// The largest of each window; if several are equal, the gradient goes to the first. A NaN counts as the
// largest. The result has floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1 elements, or
// that rounded up.
Tensor max_pool1d(const Tensor& x, const PerDim& kernel, const MaxPoolOptions& options = {});
Tensor max_pool2d(const Tensor& x, const PerDim& kernel, const MaxPoolOptions& options = {});
Tensor max_pool3d(const Tensor& x, const PerDim& kernel, const MaxPoolOptions& options = {});

struct AvgPoolOptions {
  std::optional<PerDim> stride = {};
  PerDim padding = 0;  // zeros
  bool ceil_mode = false;
  bool count_include_pad = true;  // whether the zeros are part of the average
};

// The mean of each window.
Tensor avg_pool1d(const Tensor& x, const PerDim& kernel, const AvgPoolOptions& options = {});
Tensor avg_pool2d(const Tensor& x, const PerDim& kernel, const AvgPoolOptions& options = {});
Tensor avg_pool3d(const Tensor& x, const PerDim& kernel, const AvgPoolOptions& options = {});

// Windows of about equal size that give a result of this size. Unless all sizes divide x's, means are
// products with matrices [in, out]; values that are not finite spread along their lines.
Tensor adaptive_max_pool1d(const Tensor& x, const PerDim& size);
Tensor adaptive_max_pool2d(const Tensor& x, const PerDim& size);
Tensor adaptive_max_pool3d(const Tensor& x, const PerDim& size);
Tensor adaptive_avg_pool1d(const Tensor& x, const PerDim& size);
Tensor adaptive_avg_pool2d(const Tensor& x, const PerDim& size);
Tensor adaptive_avg_pool3d(const Tensor& x, const PerDim& size);

}  // namespace veldt
