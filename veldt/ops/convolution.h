// Convolutions of 1 to 3 spatial dimensions and their transposes, as in torch.nn.functional; the kernel is
// not flipped. Tensors have one dtype: bf16 and f16 are computed as f32 and rounded once, integers give f32.
// Differentiable to any order by input, weight and bias. Throws ShapeError naming both shapes, and
// ConfigError for options that are invalid for any shape.
// Tests: tests/support/op_rows_convolution.cpp, tests/ops/convolution_test.cpp
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "veldt/ops/arrange.h"
#include "veldt/tensor/tensor.h"

namespace veldt {

// One number for all spatial dimensions, or one for each: 2, {2, 1}.
class PerDim {
 public:
  template <std::integral I> PerDim(I all) : numbers_{static_cast<std::int64_t>(all)} {}  // NOLINT: 2 is one
  PerDim(std::initializer_list<std::int64_t> each) : numbers_(each) {}
  explicit PerDim(const Shape& each) : numbers_(each) {}

  // One for each of `dims` dimensions. Throws ConfigError if another number of them was given.
  Shape of(int dims) const;
  const Shape& given() const { return numbers_; }

 private:
  Shape numbers_;
};

// Elements around the input: a number for both sides, or one before and one after it, or "same", as many as
// keep its size (for stride 1; an odd one is at the end), or "valid", none.
class ConvPadding {
 public:
  template <std::integral I> ConvPadding(I all) : ConvPadding(PerDim(all)) {}  // NOLINT: 2 is one
  ConvPadding(std::initializer_list<std::int64_t> each) : ConvPadding(PerDim(each)) {}
  explicit ConvPadding(const PerDim& each) : ConvPadding(each, each) {}
  ConvPadding(const PerDim& before, const PerDim& after) : before_(before), after_(after) {}
  ConvPadding(std::string_view name);  // NOLINT: throws ConfigError for another name
  ConvPadding(const char* name) : ConvPadding(std::string_view(name)) {}         // NOLINT: "same" is one
  ConvPadding(const std::string& name) : ConvPadding(std::string_view(name)) {}  // NOLINT

  bool same() const { return same_; }
  const PerDim& before() const { return before_; }
  const PerDim& after() const { return after_; }

 private:
  PerDim before_ = 0, after_ = 0;
  bool same_ = false;
};

struct ConvOptions {
  PerDim stride = 1;
  ConvPadding padding = 0;
  PerDim dilation = 1;      // distance of the elements that neighbours in the kernel read
  std::int64_t groups = 1;  // of channels, each convolved separately; as many as channels: depthwise
  PadMode padding_mode = PadMode::zeros;
};

// x [n, c_in, spatial ..] or [c_in, spatial ..], weight [c_out, c_in / groups, kernel ..], bias [c_out] or
// undefined -> [n, c_out, ..] or [c_out, ..], of spatial size
//   floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1
// While the weight wants a gradient, the CPU may compute large ones of 3x3 in f32 by Winograd's algorithm:
// with rounding errors up to 1e-4 of the root mean square, and NaN around a NaN.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const ConvOptions& options = {});
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const ConvOptions& options = {});
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const ConvOptions& options = {});

struct ConvTransposeOptions {
  PerDim stride = 1;
  PerDim padding = 0;         // elements removed from the result on both sides
  PerDim output_padding = 0;  // elements added at the end; below the stride or the dilation
  PerDim dilation = 1;
  std::int64_t groups = 1;
};

// The gradient of a convolution by its input, as an op: x [n, c_in, spatial ..] or [c_in, spatial ..], weight
// [c_in, c_out / groups, kernel ..], bias [c_out] or undefined -> [n, c_out, ..] or [c_out, ..], of size
//   (size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});

}  // namespace veldt
