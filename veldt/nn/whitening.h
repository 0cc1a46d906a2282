// A first layer that is computed from the pictures instead of being learned.
// Tests: tests/nn/whitening_test.cpp
#pragma once

#include "veldt/nn/module.h"

namespace veldt::nn {

struct WhiteningOptions {
  double eps = 5e-4;  // added to the variances, whose square roots the filters are divided by
  bool bias = true;
  DType dtype = DType::f32;
  Device device = {};
};

// A convolution of kernel x kernel without padding whose filters whiten: x [n, in, height, width] -> [n, 2 d,
// height - kernel + 1, width - kernel + 1], d = in kernel^2. The d principal directions of all patches, each
// over the square root of its variance, and their negatives (Page 2018, "How to train your ResNet"; Jordan
// 2024, "94% on CIFAR-10 in 3.29 seconds on a single GPU"). The buffer "weight" [2 d, in, kernel, kernel] is
// not trained: before fit() it is the patches' pixels themselves. "bias" [2 d] (0) is.
class WhiteningConv2d : public Module {
 public:
  // Throws ConfigError for sizes below 1, more than 512 numbers in a patch, and an eps not above 0.
  WhiteningConv2d(std::int64_t in, std::int64_t kernel, WhiteningOptions options = {});

  // Computes the filters from pictures [n, in, height, width], in f64 and on the host. Moments are about 0,
  // as the pictures are normalised. Throws ShapeError for another form, and for pictures smaller than a
  // patch; Error for pictures that are not finite.
  void fit(const Tensor& pictures);

  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override { f("weight", weight_)("bias", bias_); }
  std::string title() const override;
  double flops(const Shape& input, const Shape& output) const override;

  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  // undefined without one

 private:
  std::int64_t in_, kernel_;
  double eps_;
  Tensor weight_, bias_;
};

}  // namespace veldt::nn
