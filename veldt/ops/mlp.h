// A stack of fully connected layers in one op. A tile of rows goes through all layers and back while it is in
// the cache (kernels in cpu/mlp.cpp, cuda/mlp.cu): several times faster than layer by layer on the CPU, and
// no activation is kept for the backward pass, which repeats the forward one.
// Tests: tests/support/op_rows_mlp.cpp, tests/ops/mlp_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "veldt/core/mlp.h"
#include "veldt/core/small_blocks.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

// f(x W^T + b): weight [out, in], bias [out] or undefined. omega belongs to sine, finer, gauss and wire,
// scale to wire.
struct DenseLayer {
  Tensor weight, bias;
  MlpActivation activation = MlpActivation::identity;
  double omega = 1, scale = 1;
};

using DenseLayers = std::vector<DenseLayer, SmallAllocator<DenseLayer>>;

// Whether this device has kernels for stacks of layers in this precision. Only weights and activations of the
// hidden layers are rounded, for their products; everything else, including gradients, stays f32. f32 is
// always supported, bf16 where it is faster, tf32 on CUDA, where a row with an infinity may become NaN.
bool has_products(Device device, Precision precision);

// Whether the kernel takes f32 layers of these sizes, the input's first: an input of at most 512 numbers, at
// most 32 layers of at most 256 outputs.
bool is_fused_mlp(std::span<const std::int64_t> sizes);

// x [.., in] -> [.., out]. Stacks that the kernel does not support are computed layer by layer, with the same
// result, and so is a gradient that is differentiated again. Throws ShapeError for sizes that do not fit; for
// a precision other than f32 DeviceError if has_products() is false, and ConfigError if is_fused_mlp() is.
Tensor mlp(const Tensor& x, std::span<const DenseLayer> layers, Precision precision = Precision::f32);

struct MlpLossOptions {
  MlpError error = MlpError::squared;
  MlpSquash squash = MlpSquash::none;
  // The first `pooled` rows of x are in groups of `group`: the mean of a group's squashed outputs is compared
  // with one target, like a camera's average over a pixel.
  std::int64_t group = 1, pooled = 0;
  Tensor weight = {};  // how much each target counts [targets]; undefined: 1 each
  Precision precision = Precision::f32;
};
struct MlpLossResult {
  Tensor loss;    // [], the mean over all numbers of all targets
  Tensor output;  // [n, out], not squashed; without a gradient
};
// The loss of mlp(x), with x [n, in], against target [targets, out], targets = pooled / group + n - pooled.
// If a gradient is needed it is computed in the same pass, tile by tile, so that nothing is computed twice. A
// clamp passes gradients as if the loss were minimised, whatever it is multiplied by. Throws as mlp() does,
// and ShapeError or ConfigError for targets and groups that do not fit.
MlpLossResult mlp_loss(const Tensor& x, std::span<const DenseLayer> layers, const Tensor& target,
                       const MlpLossOptions& options = {});

}  // namespace veldt
