// Pooling layers: they store options, print them, and call the ops.
#include "veldt/nn/pooling.h"

#include <utility>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
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

// Bytes between layers of integers have the order of what they stand for: the largest of each window, in the
// memory order that they have. Only for windows that lie within x, one beside the other in memory.
bool pools_bytes(const Tensor& x, const MaxPoolOptions& o) {
  return x.dtype() == DType::u8 && x.rank() == 4 && !o.ceil_mode && o.padding.of(2) == Shape{0, 0};
}
bool fits(const Tensor& x, const Shape& kernel, const Shape& apart) {
  return x.size(2) > apart[0] * (kernel[0] - 1) && x.size(3) > apart[1] * (kernel[1] - 1);
}
// The largest of `size` elements along `dim`, `apart` from each other, at each `stride`. `dense`: of windows
// everywhere, of which some are taken, because elements that lie in memory one after the other are faster.
Tensor largest_along(const Tensor& x, int dim, std::int64_t size, std::int64_t apart, std::int64_t stride,
                     bool dense) {
  const std::int64_t out = (x.size(dim) - apart * (size - 1) - 1) / stride + 1, span = (out - 1) * stride + 1;
  Tensor most;
  for (std::int64_t i = 0; i < size; ++i) {
    const Tensor part = slice(x, dim, i * apart, i * apart + span, dense ? 1 : stride);
    most = most.defined() ? maximum(most, part) : part;
  }
  return dense && stride > 1 ? slice(most, dim, 0, span, stride) : most;
}
Tensor largest_bytes(const Tensor& x, const PerDim& given, const MaxPoolOptions& o) {
  const Shape kernel = given.of(2), stride = o.stride ? o.stride->of(2) : kernel, apart = o.dilation.of(2);
  constexpr std::int64_t kFewChannels = 32;  // bytes in a row that are worth a walk of their own
  const Tensor rows = largest_along(x, 2, kernel[0], apart[0], stride[0], false);
  return largest_along(rows, 3, kernel[1], apart[1], stride[1], x.size(1) < kFewChannels);
}

}  // namespace

// The number of dimensions is checked when a layer is created, the rest when it is used.
template <int kDims>
MaxPool<kDims>::MaxPool(PerDim kernel, MaxPoolOptions options)
    : kernel_(std::move(kernel)), options_(std::move(options)) {
  kernel_.of(kDims);
}

template <int kDims> Tensor MaxPool<kDims>::forward(const Tensor& x) const {
  if constexpr (kDims == 2)
    if (pools_bytes(x, options_) && fits(x, kernel_.of(2), options_.dilation.of(2)))
      return largest_bytes(x, kernel_, options_);
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
