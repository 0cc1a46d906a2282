// What several networks for pictures have in common: options, and blocks of a convolution, a norm and an
// activation.
// Tests: tests/models/peers_test.cpp
#pragma once

#include <vector>

#include "veldt/models/about.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/sequential.h"

namespace veldt::models {

// "classes" and "in_channels" of a network for pictures; the mean and deviation of ImageNet's pixels.
std::vector<OptionInfo> picture_options(std::int64_t classes = 1000);
OptionInfo dropout_option(double otherwise);
OptionInfo width_option();
Preprocessing imagenet_pixels();

enum class Act : std::uint8_t { none, relu, relu6, hardswish };

struct ConvNormOptions {
  std::int64_t stride = 1;
  std::int64_t groups = 1;
  Act act = Act::relu;
  nn::BatchNormOptions norm = {};
};

// torchvision's Conv2dNormActivation: a convolution "0" without a bias that keeps the size but for its
// stride, a batch norm "1", and an activation.
nn::Sequential conv_norm(std::int64_t in, std::int64_t out, std::int64_t kernel,
                         const ConvNormOptions& options, Rng& rng);

// "features", the mean of each of their channels, "classifier".
class ClassifiedFeatures : public nn::Module {
 public:
  Tensor forward(const Tensor& x) const override;
  void fields(nn::Fields& f) override { f("features", features_)("classifier", classifier_); }

 protected:
  nn::Sequential features_, classifier_;
};

// The multiple of 8 nearest to a number of channels, at least 8 and not more than a tenth below it (Sandler
// et al. 2018).
std::int64_t divisible_by_8(double channels);

// The initial values of most networks of torchvision: weights of convolutions from N(0, 2 / outputs), He et
// al. 2015, their biases 0. `linear_deviation`: of the weights of Linear layers, whose biases become 0; below
// 0 they stay.
void draw_as_torchvision(nn::Module& network, double linear_deviation, Rng& rng);

}  // namespace veldt::models
