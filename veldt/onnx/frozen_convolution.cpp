// Whether a convolution can go to the backend as one call, and what it stands for if not.
#include "veldt/onnx/frozen_convolution.h"

#include <algorithm>
#include <limits>

#include "veldt/core/finite.h"
#include "veldt/onnx/support.h"
#include "veldt/onnx/trace.h"
#include "veldt/ops/parts.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt::onnx {

namespace {

const std::vector<int> kLast = {0, 2, 3, 1}, kFirst = {0, 3, 1, 2};  // channels

// The layout of a Conv over two dimensions and the shape of its result; null for what the operator itself
// would refuse, or pad first.
std::shared_ptr<const FrozenSizes> sizes_of_result(const Call& c, const Tensor& x, const Tensor& w,
                                                   const Tensor& bias) {
  if (x.rank() != 4 || w.rank() != 4) return {};
  const std::vector<std::int64_t> kernel(w.shape().begin() + 2, w.shape().end());
  if (c.integers("kernel_shape", kernel) != kernel) return {};
  const Window window = window_of(c, kernel, std::span(x.shape().begin() + 2, 2));
  FrozenSizes out{x.shape(), {x.size(0), w.size(0)}, {.dims = 2, .groups = c.integer("group", 1)}};
  ConvLayout& layout = out.layout;
  if (layout.groups < 1 || w.size(0) % layout.groups != 0 || x.size(1) % layout.groups != 0 ||
      x.size(1) / layout.groups != w.size(1) || (bias.defined() && bias.shape() != Shape{w.size(0)}))
    return {};
  for (int d = 0; d < 2; ++d) {
    const auto at = static_cast<std::size_t>(d);
    const std::int64_t before = window.padding.before[at], after = window.padding.after[at];
    if (before < 0 || after < 0 || std::max(before, after) > ConvLayout::kMost || x.size(2 + d) < 1)
      return {};
    layout.stride[at] = window.stride[at];
    layout.dilation[at] = window.dilation[at];
    layout.padding[at] = before;
    out.y.push_back(layout.output_size(d, x.size(2 + d) + before + after, kernel[at]));
    if (out.y[2 + d] < 1 || out.y[2 + d] > ConvLayout::kMost) return {};
  }
  return std::make_shared<const FrozenSizes>(out);
}

bool has_channels_last(const Tensor& x) {
  const Shape &shape = x.shape(), &strides = x.strides();
  std::int64_t step = 1;
  for (const int d : {1, 3, 2, 0}) {
    if (shape[d] != 1 && strides[d] != step) return false;
    step *= shape[d];
  }
  return true;
}
Tensor channels_last(const Tensor& x) {
  return has_channels_last(x) ? x : permute(contiguous(permute(x, kLast)), kFirst);
}

}  // namespace

bool freezes_convolutions(const Tensor& x) {
  const Backend& backend = kernels(x);
  return backend.freezes_convolutions && backend.freezes_convolutions() && !is_traced();
}

bool all_finite(const Tensor& x) { return veldt::all_finite(contiguous(to(x.detach(), Device{})).view()); }

bool is_seen_finite(const Tensor& x) { return recording() || !freezes_convolutions(x) || all_finite(x); }

void FrozenConvolution::set_bounds(double low, double high) {
  kept_.low = low;
  kept_.high = high;
  bounded_ = true;
}

Tensor FrozenConvolution::fused(const Call& c, const Tensor& added) const {
  const Tensor &x = c.tensor(0), &w = c.tensor(1);
  const Tensor bias = c.has(2) ? c.tensor(2) : Tensor();
  const auto serves = [](const Tensor& t) {
    return t.dtype() == DType::f32 && !(grad_enabled() && t.requires_grad());
  };
  if (!serves(w) || w.device() != x.device()) {
    // The network was converted or moved.
    const std::scoped_lock lock(kept_.kept->mutex);
    kept_.kept->made.reset();
    return {};
  }
  if (!serves(x) || (added.defined() && !serves(added)) || (bias.defined() && !serves(bias)) || casts(x))
    return {};
  if (!freezes_convolutions(x)) return {};
  std::shared_ptr<const FrozenSizes> sizes = last_.load();
  if (!sizes || sizes->x != x.shape()) {
    sizes = sizes_of_result(c, x, w, bias);
    if (!sizes) return {};
    last_.store(sizes);
  }
  const Shape& shape = sizes->y;
  if (added.defined() && (added.shape() != shape || added.device() != x.device())) return {};
  FrozenConv call = kept_;
  call.layout = sizes->layout;
  const Tensor from = channels_last(x), weight = contiguous(w),
               shift = bias.defined() ? contiguous(bias) : bias,
               more = added.defined() ? channels_last(added) : added;
  const Tensor y = permute(empty({shape[0], shape[2], shape[3], shape[1]}, from), kFirst);
  kernels(x).convolve_frozen(call, from.view(), weight.view(), OptionalView(shift), OptionalView(more),
                             y.view());
  return y;
}

Values FrozenConvolution::run(const Call& c, Operator conv, bool keeps_nan) const {
  const Tensor added = adds_ ? c.tensor(kAdded) : Tensor();
  if (!keeps_nan)
    if (const Tensor y = fused(c, added); y.defined()) return {y};
  Tensor y = conv(c)[0].tensor();
  if (adds_) y = add(y, added);
  return {bounded_ ? clamp(y, kept_.low, kept_.high) : y};
}

}  // namespace veldt::onnx
