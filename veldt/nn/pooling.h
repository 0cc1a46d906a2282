// Pooling layers of 1 to 3 spatial dimensions, as in torch.nn, and Flatten. None has parameters.
// Tests: tests/nn/pooling_test.cpp
#pragma once

#include "veldt/nn/module.h"
#include "veldt/ops/pooling.h"

namespace veldt::nn {

// See max_pool2d(), avg_pool2d() and adaptive_avg_pool2d(): x [n, channels, spatial ..] or [channels, ..].
template <int kDims> class MaxPool : public Module {
 public:
  explicit MaxPool(PerDim kernel, MaxPoolOptions options = {});
  Tensor forward(const Tensor& x) const override;
  std::string title() const override;

  const PerDim& kernel() const { return kernel_; }
  const MaxPoolOptions& options() const { return options_; }

 private:
  PerDim kernel_;
  MaxPoolOptions options_;
};

template <int kDims> class AvgPool : public Module {
 public:
  explicit AvgPool(PerDim kernel, AvgPoolOptions options = {});
  Tensor forward(const Tensor& x) const override;
  std::string title() const override;

  const PerDim& kernel() const { return kernel_; }
  const AvgPoolOptions& options() const { return options_; }

 private:
  PerDim kernel_;
  AvgPoolOptions options_;
};

template <int kDims> class AdaptiveMaxPool : public Module {
 public:
  explicit AdaptiveMaxPool(PerDim size);
  Tensor forward(const Tensor& x) const override;
  std::string title() const override;

 private:
  PerDim size_;
};

template <int kDims> class AdaptiveAvgPool : public Module {
 public:
  explicit AdaptiveAvgPool(PerDim size);
  Tensor forward(const Tensor& x) const override;
  std::string title() const override;

 private:
  PerDim size_;
};

using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;
using AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<3>;
using AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
using AdaptiveAvgPool2d = AdaptiveAvgPool<2>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<3>;

// [n, a, b, ..] to [n, a b ..].
class Flatten : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
  std::string title() const override { return "Flatten"; }
};

}  // namespace veldt::nn
