// Whether a convolution can go to the backend as one call, and what it stands for if not.
#include "veldt/onnx/frozen_convolution.h"

#include <algorithm>
#include <limits>

#include "veldt/onnx/support.h"
#include "veldt/ops/parts.h"
#include "veldt/tensor/graph.h"

namespace veldt::onnx {

namespace {

const std::vector<int> kLast = {0, 2, 3, 1}, kFirst = {0, 3, 1, 2};  // channels

// Sets the layout of a Conv over two dimensions, and returns the shape of its result; nothing for what the
// operator itself would refuse, or pad first.
std::optional<Shape> shape_of_result(const Call& c, const Tensor& x, const Tensor& w, const Tensor& bias,
                                     ConvLayout& layout) {
  if (x.rank() != 4 || w.rank() != 4 || w.device() != x.device() || w.dtype() != x.dtype()) return {};
  const std::vector<std::int64_t> kernel(w.shape().begin() + 2, w.shape().end());
  if (c.integers("kernel_shape", kernel) != kernel) return {};
  const Window window = window_of(c, kernel, std::span(x.shape().begin() + 2, 2));
  layout = {.dims = 2, .groups = c.integer("group", 1)};
  if (layout.groups < 1 || w.size(0) % layout.groups != 0 || w.size(1) > x.size(1) ||
      x.size(1) % layout.groups != 0 || x.size(1) / layout.groups != w.size(1) ||
      (bias.defined() && (bias.shape() != Shape{w.size(0)} || bias.dtype() != x.dtype())))
    return {};
  Shape shape = {x.size(0), w.size(0)};
  for (int d = 0; d < 2; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const std::int64_t before = window.padding.before[at], after = window.padding.after[at];
    if (before < 0 || after < 0 || std::max(before, after) > ConvLayout::kMost || x.size(2 + d) < 1)
      return {};
    layout.stride[at] = window.stride[at];
    layout.dilation[at] = window.dilation[at];
    layout.padding[at] = before;
    shape.push_back(layout.output_size(d, x.size(2 + d) + before + after, kernel[at]));
    if (shape[2 + d] < 1 || shape[2 + d] > ConvLayout::kMost) return {};
  }
  return shape;
}

Tensor channels_last(const Tensor& x) { return permute(contiguous(permute(x, kLast)), kFirst); }

}  // namespace

void FrozenConvolution::set_bounds(double low, double high) {
  kept_.low = low;
  kept_.high = high;
  bounded_ = true;
}

Tensor FrozenConvolution::fused(const Call& c, const Tensor& added) const {
  const Tensor &x = c.tensor(0), &w = c.tensor(1);
  const Tensor bias = c.has(2) ? contiguous(c.tensor(2)) : Tensor();
  const auto serves = [](const Tensor& t) {
    return t.dtype() == DType::f32 && !(grad_enabled() && t.requires_grad());
  };
  if (!serves(x) || (added.defined() && !serves(added)) || casts(x)) return {};
  const Backend& backend = kernels(x);
  if (!backend.freezes_convolutions || !backend.freezes_convolutions()) return {};
  FrozenConv call = kept_;
  const std::optional<Shape> shape = shape_of_result(c, x, w, bias, call.layout);
  if (!shape || (added.defined() && (added.shape() != *shape || added.device() != x.device()))) return {};
  const Tensor from = channels_last(x), weight = contiguous(w),
               more = added.defined() ? channels_last(added) : added;
  const Tensor y = permute(empty({(*shape)[0], (*shape)[2], (*shape)[3], (*shape)[1]}, from), kFirst);
  backend.convolve_frozen(call, from.view(), weight.view(), OptionalView(bias), OptionalView(more), y.view());
  return y;
}

Values FrozenConvolution::run(const Call& c, Operator conv) const {
  const Tensor added = adds_ ? c.tensor(kAdded) : Tensor();
  if (const Tensor y = fused(c, added); y.defined()) return {y};
  Tensor y = conv(c)[0].tensor();
  if (adds_) y = add(y, added);
  return {bounded_ ? clamp(y, kept_.low, kept_.high) : y};
}

}  // namespace veldt::onnx
