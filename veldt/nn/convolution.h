// Convolutional layers of 1 to 3 spatial dimensions, and their transposes; parameters, defaults and initial
// values are those of torch.nn.Conv2d and its like.
// Tests: tests/nn/convolution_test.cpp
#pragma once

#include "veldt/nn/init.h"
#include "veldt/nn/module.h"
#include "veldt/nn/weight.h"
#include "veldt/ops/convolution.h"

namespace veldt::nn {

// See veldt::ConvOptions.
struct ConvLayerOptions {
  PerDim stride = 1;
  ConvPadding padding = 0;
  PerDim dilation = 1;
  std::int64_t groups = 1;
  PadMode padding_mode = PadMode::zeros;
  bool bias = true;
  DType dtype = DType::f32;
  Device device = {};
};

// x [n, in, spatial ..] or [in, spatial ..] -> [n, out, ..] or [out, ..]; "weight" [out, in / groups, kernel
// ..], "bias" [out]. Both start as U(-b, b), b = 1 / sqrt(in / groups times the kernel's elements), the
// weight drawn first.
template <int kDims> class Conv : public Module, public Quantizable {
 public:
  // Throws ConfigError for sizes below 1 and groups that do not divide the channels; a call, as conv2d().
  Conv(std::int64_t in, std::int64_t out, PerDim kernel, ConvLayerOptions options = {},
       Rng& rng = default_rng());
  Conv(std::int64_t in, std::int64_t out, PerDim kernel, Rng& rng) : Conv(in, out, kernel, {}, rng) {}

  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override {
    weight_.fields(f, "weight");
    f("bias", bias_);
  }
  std::vector<Named> weights() override { return {{"weight", &weight_, Use::convolution, true}}; }
  Tensor* bias_of_product() override { return &bias_; }
  std::string title() const override;
  double flops(const Shape& input, const Shape& output) const override;

  Tensor weight() const { return weight_.numbers(); }  // of integers, the floats that they stand for
  const Tensor& bias() const { return bias_; }         // undefined without one
  // Of a call. A derived layer may pad each input in another way.
  ConvOptions options() const {
    ConvOptions o = options_;
    o.groups = groups();
    return o;
  }

 protected:
  // For layers with another padding for each input.
  Tensor convolved(const Tensor& x, const ConvOptions& options) const {
    return weight_.convolve(kDims, x, bias_, options);
  }

 private:
  // Of one that takes each channel by itself as many as there are: some may have been cut
  // (compress/channels.h).
  std::int64_t groups() const { return is_depthwise_ ? weight_.size(0) : options_.groups; }

  ConvOptions options_;
  bool is_depthwise_;
  Weight weight_;
  Tensor bias_;
};

using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

// See veldt::ConvTransposeOptions.
struct ConvTransposeLayerOptions {
  PerDim stride = 1;
  PerDim padding = 0;
  PerDim output_padding = 0;
  PerDim dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  DType dtype = DType::f32;
  Device device = {};
};

// The same for conv_transpose2d() and its like: "weight" [in, out / groups, kernel ..]; b = 1 / sqrt(out /
// groups times the kernel's elements).
template <int kDims> class ConvTranspose : public Module {
 public:
  ConvTranspose(std::int64_t in, std::int64_t out, PerDim kernel, ConvTransposeLayerOptions options = {},
                Rng& rng = default_rng());
  ConvTranspose(std::int64_t in, std::int64_t out, PerDim kernel, Rng& rng)
      : ConvTranspose(in, out, kernel, {}, rng) {}

  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override { f("weight", weight_)("bias", bias_); }
  std::string title() const override;
  double flops(const Shape& input, const Shape& output) const override;

  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  // undefined without one

 private:
  ConvTransposeOptions options_;
  Tensor weight_, bias_;
};

using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

}  // namespace veldt::nn
