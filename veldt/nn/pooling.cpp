// Pooling layers: they store options, print them, and call the ops.
#include "veldt/nn/pooling.h"

#include <utility>

#include "veldt/core/error.h"
#include "veldt/ops/shape.h"

namespace veldt::nn {
namespace {

// The op for kDims dimensions.
template <int kDims, class Op> constexpr Op chosen(Op one, Op two, Op three) {
  return kDims == 1 ? one : kDims == 2 ? two : three;
}

std::string shown(const PerDim& numbers, int dims) {
  const Shape all = numbers.of(dims);
  for (int d = 1; d < dims; ++d)
    if (all[d] != all[0]) return str(all);
  return str(all[0]);
}

}  // namespace

// The number of dimensions is checked when a layer is created, the rest when it is used.
template <int kDims>
MaxPool<kDims>::MaxPool(PerDim kernel, MaxPoolOptions options)
    : kernel_(std::move(kernel)), options_(std::move(options)) {
  kernel_.of(kDims);
}

template <int kDims> Tensor MaxPool<kDims>::forward(const Tensor& x) const {
  return chosen<kDims>(max_pool1d, max_pool2d, max_pool3d)(x, kernel_, options_);
}

template <int kDims> std::string MaxPool<kDims>::title() const {
  return str("MaxPool", kDims, "d(", shown(kernel_, kDims), ')');
}

template <int kDims>
AvgPool<kDims>::AvgPool(PerDim kernel, AvgPoolOptions options)
    : kernel_(std::move(kernel)), options_(std::move(options)) {
  kernel_.of(kDims);
}

template <int kDims> Tensor AvgPool<kDims>::forward(const Tensor& x) const {
  return chosen<kDims>(avg_pool1d, avg_pool2d, avg_pool3d)(x, kernel_, options_);
}

template <int kDims> std::string AvgPool<kDims>::title() const {
  return str("AvgPool", kDims, "d(", shown(kernel_, kDims), ')');
}

template <int kDims> AdaptiveMaxPool<kDims>::AdaptiveMaxPool(PerDim size) : size_(std::move(size)) {
  size_.of(kDims);
}

template <int kDims> Tensor AdaptiveMaxPool<kDims>::forward(const Tensor& x) const {
  return chosen<kDims>(adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d)(x, size_);
}

template <int kDims> std::string AdaptiveMaxPool<kDims>::title() const {
  return str("AdaptiveMaxPool", kDims, "d(", shown(size_, kDims), ')');
}

template <int kDims> AdaptiveAvgPool<kDims>::AdaptiveAvgPool(PerDim size) : size_(std::move(size)) {
  size_.of(kDims);
}

template <int kDims> Tensor AdaptiveAvgPool<kDims>::forward(const Tensor& x) const {
  return chosen<kDims>(adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)(x, size_);
}

template <int kDims> std::string AdaptiveAvgPool<kDims>::title() const {
  return str("AdaptiveAvgPool", kDims, "d(", shown(size_, kDims), ')');
}

template class MaxPool<1>;
template class MaxPool<2>;
template class MaxPool<3>;
template class AvgPool<1>;
template class AvgPool<2>;
template class AvgPool<3>;
template class AdaptiveMaxPool<1>;
template class AdaptiveMaxPool<2>;
template class AdaptiveMaxPool<3>;
template class AdaptiveAvgPool<1>;
template class AdaptiveAvgPool<2>;
template class AdaptiveAvgPool<3>;

Tensor Flatten::forward(const Tensor& x) const { return flatten(x, 1); }

}  // namespace veldt::nn
